/** First in, first out, at a cost that does not grow with what waits: `Array.shift` moves everything that is left. */
export class Queue<Item> {
  #items: (Item | undefined)[] = []
  #head = 0

  push(item: Item): void {
    this.#items.push(item)
  }

  unshift(item: Item): void {
    this.#items = [item, ...this.#items.slice(this.#head)]
    this.#head = 0
  }

  shift(): Item | undefined {
    if (this.#head === this.#items.length) return undefined
    const item = this.#items[this.#head]
    this.#items[this.#head++] = undefined
    if (this.#head === this.#items.length || this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
    return item
  }

  clear(): void {
    this.#items = []
    this.#head = 0
  }
}
