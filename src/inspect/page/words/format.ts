/** `840 ms`, `3.2 s`, `4 min 05 s`, `2 h 07 min`. */
export function duration(ms: number): string {
  if (!Number.isFinite(ms) || ms < 0) return '–'
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`
  const seconds = Math.floor(ms / 1000)
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${pad(seconds % 60)} s`
  return `${Math.floor(minutes / 60)} h ${pad(minutes % 60)} min`
}

/** `+0.840 s` for the time since the run began. */
export function offset(ms: number): string {
  return ms < 60_000 ? `+${(ms / 1000).toFixed(2)} s` : `+${duration(ms)}`
}

/** `980`, `12.4k`, `3.1M`. */
export function count(n: number): string {
  if (n < 1000) return String(n)
  if (n < 1_000_000) return `${trimmed(n / 1000)}k`
  return `${trimmed(n / 1_000_000)}M`
}

/** Money without a currency, which the prices do not name: three digits that matter. */
export function money(amount: number): string {
  return amount === 0 ? '0' : String(Number(amount.toPrecision(3)))
}

/** How long ago something was, in its largest unit: `12 s`, `5 min`, `3 h`, `4 d`. */
export function age(ms: number, units: AgeUnits): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  if (seconds < 60) return `${seconds} ${units.seconds}`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} ${units.minutes}`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} ${units.hours}`
  return `${Math.floor(seconds / 86_400)} ${units.days}`
}

export interface AgeUnits {
  readonly seconds: string
  readonly minutes: string
  readonly hours: string
  readonly days: string
}

function trimmed(n: number): string {
  return n < 100 ? (Math.floor(n * 10) / 10).toFixed(1) : String(Math.floor(n))
}

function pad(n: number): string {
  return String(n).padStart(2, '0')
}
