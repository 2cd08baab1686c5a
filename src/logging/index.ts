export { type EventLogger, type LogOptions, logEvents } from './logEvents.ts'
