export { type InspectionSink, type StatelyOptions, statelyInspector } from './statelyInspector.ts'
