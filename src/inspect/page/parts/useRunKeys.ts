import { useEffect } from 'preact/hooks'
import type { Inspector } from '../wire/inspector.ts'
import { neighbourOf } from '../wire/runList.ts'
import { routeOf } from '../words/route.ts'
import { goTo, moveTo } from './navigate.ts'

/** The keys that hold everywhere but where somebody writes. */
export function useRunKeys(inspector: Inspector, onHelp: () => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || isForField(event)) return
      // The address is ahead of what is drawn: a key that is held down comes again before the page is drawn anew.
      const { runId, at } = routeOf(location.hash)
      const history = inspector.open?.history
      const step = (direction: 1 | -1): void => {
        if (history === undefined || runId === undefined || history.isEmpty) return
        const next = history.stopFrom(at ?? history.next - 1, direction)
        moveTo(next === history.next - 1 ? { runId } : { runId, at: next })
      }
      const choose = (distance: number): void => {
        const row = neighbourOf(inspector.list.rows, runId, distance)
        if (row !== undefined) goTo({ runId: row.runId })
      }
      const actions: Readonly<Record<string, () => void>> = {
        j: () => choose(1),
        k: () => choose(-1),
        ArrowLeft: () => step(-1),
        ArrowRight: () => step(1),
        Home: () => {
          if (runId !== undefined && history !== undefined) moveTo({ runId, at: history.first })
        },
        End: () => {
          if (runId !== undefined) moveTo({ runId })
        },
        '/': () => document.getElementById('search')?.focus(),
        '?': onHelp,
      }
      const action = actions[event.key]
      if (action === undefined) return
      event.preventDefault()
      action()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [inspector, onHelp])
}

/** Whether a key belongs to what has the focus: a field, a menu, a dialog, or tabs, which have arrow keys of their own. */
export function isForField({ target, key }: KeyboardEvent): boolean {
  if (document.querySelector('dialog[open]') !== null) return true
  if (!(target instanceof Element)) return false
  if (target.closest('textarea, select, input:not([type=range])') !== null) return true
  if (key.startsWith('Arrow')) return target.closest('input, [role=tablist]') !== null
  return (key === 'Home' || key === 'End') && target.closest('input') !== null
}
