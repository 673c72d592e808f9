import type { Context } from 'koa';

/** A text field of the posted form; empty when it is missing or repeated. */
export function field(ctx: Context, name: string): string {
  const value = (ctx.request.body as Record<string, unknown> | undefined)?.[name];
  return typeof value === 'string' ? value : '';
}

export function goOn(ctx: Context, target: string): void {
  ctx.set({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' });
  ctx.status = 303;
  ctx.redirect(target);
}
