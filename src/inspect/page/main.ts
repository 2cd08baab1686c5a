import { h, render } from 'preact'
import { App } from './parts/app.ts'
import { Inspector } from './wire/inspector.ts'

const root = document.getElementById('app')
if (root !== null) render(h(App, { inspector: new Inspector() }), root)
