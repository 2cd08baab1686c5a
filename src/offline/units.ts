export type Dimension = 'length' | 'mass' | 'temperature' | 'volume' | 'speed' | 'data'

/** A unit. A value is `(value + shift) * factor` in the dimension's base unit. */
export interface Unit {
  readonly symbol: string
  readonly dimension: Dimension
  readonly factor: number
  /** Not 0 only where zero is not zero of the base unit: degrees. */
  readonly shift: number
  /** Every accepted spelling in lower case, the symbol included. */
  readonly names: readonly string[]
}

export const units: readonly Unit[] = [
  unit('length', 'mm', 0.001, 'millimeter millimeters millimetre millimetres 毫米'),
  unit('length', 'cm', 0.01, 'centimeter centimeters centimetre centimetres 厘米 公分'),
  unit('length', 'm', 1, 'meter meters metre metres 米'),
  unit('length', 'km', 1000, 'kilometer kilometers kilometre kilometres 公里 千米'),
  unit('length', 'in', 0.0254, 'inch inches 英寸'),
  unit('length', 'ft', 0.3048, 'foot feet 英尺'),
  unit('length', 'yd', 0.9144, 'yard yards 码'),
  unit('length', 'mi', 1609.344, 'mile miles 英里'),
  unit('length', 'nmi', 1852, '海里'),
  unit('mass', 'mg', 1e-6, 'milligram milligrams 毫克'),
  unit('mass', 'g', 0.001, 'gram grams 克'),
  unit('mass', 'kg', 1, 'kilogram kilograms kilo kilos 公斤 千克'),
  unit('mass', 't', 1000, 'tonne tonnes 吨'),
  unit('mass', 'oz', 0.028349523125, 'ounce ounces 盎司'),
  unit('mass', 'lb', 0.45359237, 'lbs pound pounds 磅'),
  unit('mass', 'jin', 0.5, '斤 市斤'),
  unit('temperature', '°C', 1, 'c ℃ celsius 摄氏度 摄氏', 273.15),
  unit('temperature', '°F', 5 / 9, 'f ℉ fahrenheit 华氏度 华氏', 459.67),
  unit('temperature', 'K', 1, 'kelvin kelvins 开尔文'),
  unit('volume', 'ml', 1e-3, 'milliliter milliliters millilitre millilitres 毫升'),
  unit('volume', 'l', 1, 'liter liters litre litres 升'),
  unit('volume', 'm3', 1000, 'm³ 立方米'),
  unit('volume', 'cup', 0.2365882365, 'cups'),
  unit('volume', 'gal', 3.785411784, 'gallon gallons 加仑'),
  unit('speed', 'm/s', 1, '米/秒 米每秒'),
  unit('speed', 'km/h', 1 / 3.6, 'kph kmh 公里/小时 公里每小时 千米每小时'),
  unit('speed', 'mph', 0.44704, 'mi/h 英里/小时 英里每小时'),
  unit('speed', 'kn', 1852 / 3600, 'knot knots 节'),
  unit('data', 'B', 1, 'byte bytes 字节'),
  unit('data', 'KB', 1e3, 'kilobyte kilobytes'),
  unit('data', 'MB', 1e6, 'megabyte megabytes'),
  unit('data', 'GB', 1e9, 'gigabyte gigabytes'),
  unit('data', 'TB', 1e12, 'terabyte terabytes'),
  unit('data', 'KiB', 2 ** 10, 'kibibyte kibibytes'),
  unit('data', 'MiB', 2 ** 20, 'mebibyte mebibytes'),
  unit('data', 'GiB', 2 ** 30, 'gibibyte gibibytes'),
  unit('data', 'TiB', 2 ** 40, 'tebibyte tebibytes'),
]

const byName: ReadonlyMap<string, Unit> = new Map(
  units.flatMap((entry) => entry.names.map((name) => [name, entry] as const)),
)

/** The unit of a symbol or an English or Chinese name, whatever its case. */
export function findUnit(name: string): Unit | undefined {
  return byName.get(name.trim().toLowerCase())
}

/** The symbols of all units, or of one dimension, for an error message. */
export function listUnits(dimension?: Dimension): string {
  return units
    .filter((entry) => dimension === undefined || entry.dimension === dimension)
    .map((entry) => entry.symbol)
    .join(', ')
}

function unit(dimension: Dimension, symbol: string, factor: number, names: string, shift = 0): Unit {
  return { symbol, dimension, factor, shift, names: [symbol.toLowerCase(), ...names.split(' ')] }
}
