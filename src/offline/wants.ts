/** The example tools by what they are for. The stand-in asks for a tool by its name. */
export const toolNames = {
  arithmetic: 'calculate',
  weather: 'get_weather',
  time: 'get_time',
  conversion: 'convert_units',
} as const

/** A part of a question that a tool can answer. */
export interface Want {
  /** Where in the question it is asked: replies keep this order. */
  readonly at: number
  readonly tool: string
  /** Missing where the question leaves out the city. */
  readonly args?: Readonly<Record<string, unknown>>
}
