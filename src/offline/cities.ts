/** Weather as the example tools tell it. Sample data: it never changes. */
export interface SampleWeather {
  readonly temperatureC: number
  readonly condition: string
  readonly humidityPercent: number
}

/** A city that the example tools know. */
export interface City {
  /** English name. */
  readonly name: string
  /** Chinese names, the usual one first. */
  readonly chinese: readonly [string, ...string[]]
  /** IANA time zone. */
  readonly zone: string
  readonly weather: SampleWeather
}

export const cities: readonly City[] = [
  city('Beijing', ['北京'], 'Asia/Shanghai', 26, 'sunny', 40),
  city('Shanghai', ['上海'], 'Asia/Shanghai', 28, 'cloudy', 70),
  city('Shenzhen', ['深圳'], 'Asia/Shanghai', 31, 'thunderstorms', 82),
  city('Guangzhou', ['广州', '廣州'], 'Asia/Shanghai', 30, 'showers', 80),
  city('Hangzhou', ['杭州'], 'Asia/Shanghai', 27, 'light rain', 78),
  city('Chengdu', ['成都'], 'Asia/Shanghai', 24, 'overcast', 75),
  city('Hong Kong', ['香港'], 'Asia/Hong_Kong', 29, 'partly cloudy', 77),
  city('Singapore', ['新加坡'], 'Asia/Singapore', 32, 'showers', 84),
  city('Tokyo', ['东京', '東京'], 'Asia/Tokyo', 22, 'partly cloudy', 60),
  city('Seoul', ['首尔', '首爾'], 'Asia/Seoul', 20, 'sunny', 50),
  city('Sydney', ['悉尼', '雪梨'], 'Australia/Sydney', 18, 'windy', 55),
  city('London', ['伦敦', '倫敦'], 'Europe/London', 14, 'light rain', 81),
  city('Paris', ['巴黎'], 'Europe/Paris', 18, 'cloudy', 65),
  city('Berlin', ['柏林'], 'Europe/Berlin', 16, 'overcast', 68),
  city('New York', ['纽约', '紐約'], 'America/New_York', 21, 'sunny', 52),
  city('San Francisco', ['旧金山', '舊金山', '三藩市'], 'America/Los_Angeles', 17, 'fog', 76),
  city('Los Angeles', ['洛杉矶', '洛杉磯'], 'America/Los_Angeles', 25, 'sunny', 45),
]

const byName: ReadonlyMap<string, City> = new Map(
  cities.flatMap((entry) => [entry.name, ...entry.chinese].map((name) => [fold(name), entry] as const)),
)

/** Every known spelling. */
export const cityNames: readonly string[] = cities.flatMap((entry) => [entry.name, ...entry.chinese])

/** The city of an English or Chinese name, whatever its case, with or without 市. */
export function findCity(name: string): City | undefined {
  const folded = fold(name)
  return byName.get(folded) ?? byName.get(folded.replace(/市$/, ''))
}

/** The known cities, for an error message. */
export function listCities(): string {
  return cities.map(({ name, chinese: [chinese] }) => `${name} (${chinese})`).join(', ')
}

function fold(name: string): string {
  return name.trim().replace(/\s+/g, ' ').toLowerCase()
}

function city(
  name: string,
  chinese: readonly [string, ...string[]],
  zone: string,
  temperatureC: number,
  condition: string,
  humidityPercent: number,
): City {
  return { name, chinese, zone, weather: { temperatureC, condition, humidityPercent } }
}
