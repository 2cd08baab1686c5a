/** Rows beyond the edges that are there all the same, so that scrolling shows no gaps. */
const OVERSCAN = 8

export interface VisibleRows {
  readonly first: number
  /** The position behind the last one. */
  readonly end: number
}

/** Which rows of a list with rows of one height have to be there. */
export function visibleRows(
  scrollTop: number,
  viewHeight: number,
  rowHeight: number,
  count: number,
): VisibleRows {
  const first = Math.max(0, Math.min(count, Math.floor(scrollTop / rowHeight)) - OVERSCAN)
  const end = Math.min(count, Math.ceil((scrollTop + viewHeight) / rowHeight) + OVERSCAN)
  return { first: Math.min(first, end), end }
}
