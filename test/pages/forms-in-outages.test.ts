/**
 * B23: a store that fails while a form is evaluated. The same form, sent again to any node afterwards, is evaluated, and does not wait for
 * an attempt that has ended.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Extension, form, formField } from 'tenant-idp/extension';
import { storesThatFailOnce, type Way } from '../admin/retries/stores-that-fail-once.js';
import { Agent, formOf, titleOf } from '../support/client/agent.js';
import { startIdp, type TestIdp } from '../support/service/idp.js';

const { artifacts, directory, plan: planned, host } = storesThatFailOnce();

let count = 0;
const counting: Extension = {
  name: 'counting',
  routes(router, { http: { csrf }, service: { url } }) {
    router.get('/counting', (ctx) => {
      ctx.type = 'html';
      ctx.body = `<form method="post" action="${url('/counting')}"><input name="csrf" value="${csrf.token(ctx, 'counting')}"></form>`;
    });
    router.postWithoutCsrf('/counting', form, (ctx) => {
      count += 1;
      ctx.body = `evaluated ${csrf.check(ctx, 'counting', formField(ctx, 'csrf', 200))}`;
    });
    router.postWithoutCsrf('/failing', form, () => {
      count += 1;
      throw new Error('this step fails');
    });
  },
};
const nodes: TestIdp[] = [];
beforeAll(async () => {
  const shared = {
    artifacts,
    directory,
    keys: { encryption: ['what both nodes encrypt with, and no one else'] },
    cookies: { keys: ['what both nodes sign their cookies with'] },
    extensions: [counting],
    host: (idp: TestIdp['idp']) => host(idp.callback()),
  };
  for (const options of [shared, shared]) nodes.push(await startIdp(options));
});
afterAll(async () => {
  for (const node of nodes) await node.close();
});
const at = (node: number, path: string): string => `${nodes[node]?.issuer}${path}`;

const ways: readonly Way[] = process.env.PROVE ? ['before', 'after', 'from', 'hangs', 'hangs after'] : ['after', 'from'];

test.each(['/counting', '/failing'])('a form is never “still worked on” after an attempt that is over: %s', async (path) => {
  const attempt = async (node: number, failure?: { readonly call: number; readonly way: Way }) => {
    const agent = new Agent();
    const { fields } = formOf(await agent.get(at(0, '/counting')));
    const { plan, headers } = planned(failure);
    await agent.post(at(0, path), fields, headers);
    // The browser sends the form again while the store is unavailable.
    const meanwhile = failure?.way === 'from' ? planned({ call: 1, way: 'from' }) : undefined;
    if (meanwhile) await agent.post(at(0, path), fields, meanwhile.headers);
    for (const each of [plan, meanwhile?.plan]) if (each) each.isOver = true;
    const before = count;
    const again = await agent.post(at(node, path), fields);
    return { calls: plan.calls, again: [again.status, titleOf(again)], isEvaluated: count > before };
  };
  const { calls, again: usual } = await attempt(0);
  expect(calls.length).toBeGreaterThan(2);
  const evaluated = new Set<boolean>();
  for (const node of nodes.keys())
    for (const way of ways)
      for (const index of calls.keys()) {
        const { again, isEvaluated } = await attempt(node, { call: index + 1, way });
        expect([node, way, calls[index], ...again]).toEqual([node, way, calls[index], ...usual]);
        evaluated.add(isEvaluated);
      }
  expect(evaluated.has(true)).toBe(true);
});
