import type { Aborted } from '../machines/outcome.ts'
import { printableLine } from './printable.ts'

/** One line on why a run was aborted and what to do about it. */
export function adviceFor(aborted: Aborted, address: string): string {
  return printableLine(advice(aborted, address))
}

function advice({ reason, message, error }: Aborted, address: string): string {
  switch (error?.code) {
    case 'authentication':
      return `The API key was refused by ${address}. Check OPENAI_API_KEY. (${error.message})`
    case 'permission':
      return `This API key may not use ${address}. (${error.message})`
    case 'not_found':
      return `${address} was not found. Set another model with --model or LOOPCHART_MODEL, and check OPENAI_BASE_URL. (${error.message})`
    case 'connection':
      return `${address} cannot be reached. Check that the server runs, and OPENAI_BASE_URL. (${error.message})`
    case 'timeout':
      return `${address} did not answer in time. (${error.message})`
    case 'rate_limit':
    case 'overloaded':
      return `${address} is busy. Try again later. (${error.message})`
    case 'quota_exceeded':
      return `The quota of this API key at ${address} is used up. (${error.message})`
    default:
      return `${message} (${reason})`
  }
}
