/** A number of things in words: `1 step`, `2 steps`. */
export function counted(count: number, singular: string, plural: string = `${singular}s`): string {
  return `${count} ${count === 1 ? singular : plural}`
}
