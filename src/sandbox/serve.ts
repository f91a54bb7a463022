import type { HttpBindings } from '@hono/node-server'
import type { Context as HonoContext, Hono } from 'hono'
import type { Handler } from './http/handler.ts'

export type App = Hono<{ Bindings: HttpBindings }>
export type Call = HonoContext<{ Bindings: HttpBindings }>

/** Makes a route of what handles a call; undefined is answered as no endpoint at all. */
export type Serve = (handlerOf: (call: Call) => Handler | undefined) => (call: Call) => Promise<Response>

/** A parameter of the path, decoded. */
export function pathPart(call: Call, name: string): string {
  return call.req.param(name) ?? ''
}

/** What addresses on this sandbox begin with, by the name under which the client knows it. */
export function originOf(call: Call): string {
  return `http://${call.env.incoming.headers.host}`
}
