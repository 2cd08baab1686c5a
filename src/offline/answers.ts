import { fieldsOf } from '../messages/fields.ts'
import { type PastCall, parsed } from './turn.ts'
import type { Language } from './understand.ts'
import { toolNames, type Want } from './wants.ts'

type Fields = Readonly<Record<string, unknown>>

/** How much of a result in an unknown form is repeated, in characters. */
const SHOWN_RESULT = 1000

const chineseConditions: ReadonlyMap<unknown, string> = new Map([
  ['sunny', '晴'],
  ['cloudy', '多云'],
  ['partly cloudy', '局部多云'],
  ['overcast', '阴'],
  ['light rain', '小雨'],
  ['showers', '阵雨'],
  ['thunderstorms', '雷阵雨'],
  ['windy', '大风'],
  ['fog', '雾'],
])

/** What the stand-in says of itself when it understands nothing of a question. */
export function introduction(language: Language): string {
  return language === 'zh'
    ? '我是一个离线的替身模型，只懂四类问题：天气、算术、时间和单位换算。例如：北京天气怎么样？顺便算一下 15*8+32'
    : 'I am an offline stand-in for a language model. I understand weather, arithmetic, time and unit conversion, ' +
        'for example: What is the weather in Paris, and what is 15*8+32?'
}

/** A sentence about a call: its result, its error, or that nothing came of it. */
export function describeCall(call: PastCall, language: Language): string {
  if (call.result === undefined) return describeGap(call, language)
  if (/^\s*Error\b/.test(call.result)) return failure(call, call.result, language)
  const fact = factOf(call, fieldsOf(parsed(call.result)), language)
  const colon = language === 'zh' ? '：' : ': '
  return sentence(fact ?? capital(topicOf(call, language)) + colon + shorten(call.result), language)
}

/** A sentence about something that could not be looked up. */
export function describeGap(want: Pick<Want, 'tool' | 'args'>, language: Language): string {
  if (want.args === undefined) return askForPlace(want.tool, language)
  const topic = topicOf({ tool: want.tool, args: want.args }, language)
  return language === 'zh'
    ? `没能得到${topic}：没有工具 ${want.tool} 的结果。`
    : `I could not find out ${topic}: there is no result from the tool ${want.tool}.`
}

function askForPlace(tool: string, language: Language): string {
  if (language === 'zh')
    return tool === toolNames.time ? '您想知道哪座城市的时间？' : '您想知道哪座城市的天气？'
  return tool === toolNames.time ? 'The time in which city?' : 'The weather in which city?'
}

function failure(call: PastCall, result: string, language: Language): string {
  // The first line says what was wrong; what follows is advice to a model.
  const [told = ''] = result.trim().split('\n', 1)
  const reason = shorten(told.replace(/^Error(?: \(\w+\))?:?\s*/, ''))
  const topic = topicOf(call, language)
  return sentence(
    language === 'zh' ? `没能得到${topic}，工具报错：${reason}` : `I could not find out ${topic}: ${reason}`,
    language,
  )
}

/** What a call was about, as a noun. */
function topicOf({ tool, args }: PastCall, language: Language): string {
  const chinese = language === 'zh'
  switch (tool) {
    case toolNames.weather:
      return chinese ? `${args.city}的天气` : `the weather in ${args.city}`
    case toolNames.time:
      return chinese ? `${args.zone}的时间` : `the time in ${args.zone}`
    case toolNames.arithmetic:
      return chinese ? `${args.expression} 的结果` : `the result of ${args.expression}`
    case toolNames.conversion:
      return chinese
        ? `${args.value} ${args.from}换算成${args.to}`
        : `${args.value} ${args.from} in ${args.to}`
    default:
      return `${tool}(${JSON.stringify(args)})`
  }
}

/** The sentence for a result in the form of the example tools, `undefined` for any other form. */
function factOf({ tool, args, result }: PastCall, fields: Fields, language: Language): string | undefined {
  switch (tool) {
    case toolNames.weather:
      return weatherFact(fields, args.city, language)
    case toolNames.time:
      return timeFact(fields, args.zone, language)
    case toolNames.arithmetic: {
      const value = fields.result ?? parsed(result)
      return typeof value === 'number' ? `${args.expression} = ${value}` : undefined
    }
    case toolNames.conversion:
      return typeof fields.result === 'number'
        ? `${args.value} ${args.from} = ${fields.result} ${args.to}`
        : undefined
    default:
      return undefined
  }
}

function weatherFact(fields: Fields, city: unknown, language: Language): string | undefined {
  const { temperature_c: temperature, condition, humidity_percent: humidity, note } = fields
  if (typeof temperature !== 'number' || typeof condition !== 'string') return undefined
  if (language === 'zh') {
    const damp = typeof humidity === 'number' ? `，湿度 ${humidity}%` : ''
    const caveat = note === undefined ? '' : '（示例数据，并非预报）'
    return `${city}：${chineseConditions.get(condition) ?? condition}，${temperature} °C${damp}${caveat}`
  }
  const damp = typeof humidity === 'number' ? `, humidity ${humidity}%` : ''
  return `${city}: ${condition}, ${temperature} °C${damp}${typeof note === 'string' ? ` (${note})` : ''}`
}

function timeFact({ time, date }: Fields, place: unknown, language: Language): string | undefined {
  if (typeof time !== 'string') return undefined
  const day = typeof date === 'string' ? date : ''
  if (language === 'zh') return `${place}现在是 ${`${day} ${time}`.trim()}`
  return `The time in ${place} is ${time}${day === '' ? '' : ` on ${day}`}`
}

function sentence(text: string, language: Language): string {
  if (/[.!?。！？]$/.test(text)) return text
  return text + (language === 'zh' ? '。' : '.')
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function shorten(text: string): string {
  return text.length <= SHOWN_RESULT ? text : `${text.slice(0, SHOWN_RESULT)}…`.toWellFormed()
}
