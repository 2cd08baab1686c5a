export { type InspectOptions, type Inspector, inspect } from './inspect.ts'
export {
  type InspectedAgent,
  type InspectHandler,
  type InspectHandlerOptions,
  inspectHandler,
} from './inspectHandler.ts'
export { type NodeListener, nodeListener } from './nodeListener.ts'
export type {
  About,
  ChartDrawing,
  DecisionsRequest,
  EventsPage,
  ForkRequest,
  InspectedEvent,
  RunRow,
  RunsPage,
  StreamMessage,
} from './protocol.ts'
