/** A file of the page. */
export interface Asset {
  readonly body: Uint8Array<ArrayBuffer> | string
  /** Its media type. */
  readonly type: string
  readonly headers?: Readonly<Record<string, string>>
}

const page = '<!doctype html><html lang="en"><title>Loopchart</title><p>The page of the inspector.</p></html>'

/** A file of the page by its name; only those that it has are given. */
export async function asset(path: string): Promise<Asset | undefined> {
  return path === 'index.html' ? { body: page, type: 'text/html; charset=utf-8' } : undefined
}
