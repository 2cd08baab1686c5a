import { type ComponentChildren, h, type JSX } from 'preact'
import { useState } from 'preact/hooks'

interface DisclosureProps {
  readonly summary: ComponentChildren
  /** Made only once it is opened. */
  readonly content: () => ComponentChildren
}

/** Something that can be opened, and costs nothing while it is closed. */
export function Disclosure({ summary, content }: DisclosureProps): JSX.Element {
  const [isOpen, setIsOpen] = useState(false)
  return h(
    'details',
    { open: isOpen, onToggle: (event: Event) => setIsOpen((event.currentTarget as HTMLDetailsElement).open) },
    h('summary', null, summary),
    isOpen && content(),
  )
}
