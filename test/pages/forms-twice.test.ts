/**
 * B23: a form that is sent twice is evaluated once, and both answers are the same. The tests cover all routes that accept a form, and all
 * forms of all pages.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import Router from '@koa/router';
import type { Middleware } from 'koa';
import { renderPage } from '../../extensions/sign-in/render.js';
import { form } from '../../lib/http/requests/form.js';
import { gallery } from '../support/browser/page-gallery.js';
import { Agent, type Answer, authorizeUrl, createPkce, formOf } from '../support/client/agent.js';
import { pathOf, useAllForms } from '../support/requests/all-forms.js';

/** Routes whose form is on no page of the service, each with the reason. */
const others: Readonly<Record<string, string>> = {
  'POST /connect/scope/introspect': 'called by API resources, which authenticate',
  'POST /idp/connections/:id/callback': 'posted by the page of a provider, and sent on to a GET by a reference that works once',
  'POST /idp/saml/sso': 'posted by the page of a service provider, and sent on to a GET',
  'POST /idp/saml/slo': 'posted by the page of a service provider, and sent on to a GET',
  'POST /idp/saml/t/:tid/sso': 'posted by the page of a service provider, and sent on to a GET',
  'POST /idp/saml/t/:tid/slo': 'posted by the page of a service provider, and sent on to a GET',
};
const admin = /^POST \/idp\/api\//;

/** Each route, whether it reads a form by `form`, and how often its last step was called. */
const routes = new Map<string, { readonly takesForm: boolean; calls: number }>();
const register = Router.prototype.register as (...args: never[]) => never;
beforeAll(() => {
  Object.assign(Router.prototype, {
    register(this: Router, path: unknown, methods: readonly string[], steps: Middleware | Middleware[], ...rest: never[]) {
      const all = [steps].flat();
      const last = all.at(-1) as Middleware;
      const name = `${methods.map((method) => method.toUpperCase())[0]} ${String(path)}`;
      const known = { takesForm: all.includes(form), calls: 0 };
      routes.set(name, known);
      const counted: Middleware = (ctx, next) => {
        known.calls += 1;
        return last(ctx, next);
      };
      return register.call(this, path as never, methods as never, [...all.slice(0, -1), counted] as never, ...rest);
    },
  });
});
afterAll(() => void Object.assign(Router.prototype, { register }));

const service = useAllForms();
const url = (parameters: Record<string, string> = {}): string =>
  authorizeUrl(service.issuer, { code_challenge: createPkce().challenge, code_challenge_method: 'S256', ...parameters });
const seen = ({ status, location, body, headers }: Answer) => [status, location, body, headers.get('content-security-policy')];

const formRoutes = (): readonly string[] =>
  [...routes].filter(([name, { takesForm }]) => takesForm && name.startsWith('POST ')).map(([name]) => name);

describe('each route that takes a form', () => {
  test('reads it by `form`, or is sorted', () => {
    const posts = [...routes.keys()].filter((name) => name.startsWith('POST ') && !admin.test(name));
    expect(posts.filter((name) => !routes.get(name)?.takesForm && others[name] === undefined)).toEqual([]);
    expect(Object.keys(others).filter((name) => !routes.has(name))).toEqual([]);
    expect(formRoutes().length).toBeGreaterThan(30);
  });

  test.each(['at once', 'one after the other'])('evaluates it once when it is sent twice, %s', async (how) => {
    const wrong: unknown[] = [];
    for (const name of formRoutes().filter((each) => others[each] === undefined)) {
      const agent = new Agent();
      const page = await agent.follow(await agent.get(url()));
      const { fields } = formOf(page);
      const path = pathOf(name, page);
      const known = routes.get(name) as { calls: number };
      known.calls = 0;
      const post = () => agent.post(service.issuer + path, fields);
      const first = how === 'at once' ? undefined : await post();
      const answers = first ? [first, await post()] : await Promise.all([post(), post()]);
      const [one, two] = answers.map(seen);
      if (known.calls !== 1 || JSON.stringify(one) !== JSON.stringify(two))
        wrong.push([name, known.calls, one?.slice(0, 2), two?.slice(0, 2)]);
      // A form with other content is evaluated.
      await agent.post(service.issuer + path, { ...fields, more: randomUUID() });
      if (known.calls !== 2) wrong.push([name, 'with other content', known.calls]);
      // The same form in another browser is evaluated.
      const other = new Agent();
      await other.follow(await other.get(url()));
      await other.post(service.issuer + path, fields);
      if (known.calls !== 3) wrong.push([name, 'in another browser', known.calls]);
    }
    expect(wrong).toEqual([]);
  });
});

describe('each form of each page', () => {
  const forms = gallery.flatMap(({ name, view, frame }) =>
    [...renderPage(view, frame).matchAll(/<form\b[^>]*method="post"[^>]*>[\s\S]*?<\/form>/g)].map(([markup]) => ({ name, markup })),
  );

  test('there are many', () => {
    expect(forms.length).toBeGreaterThan(50);
  });

  test('has the token that tells it from others', () => {
    // A page that sends itself on to another site has a form of that site.
    const without = forms.filter(({ name, markup }) => !/name="csrf"/.test(markup) && !name.startsWith('continue'));
    expect(without.map(({ name }) => name)).toEqual([]);
  });

  test('and another token each time that it is shown', async () => {
    const agent = new Agent();
    const page = await agent.follow(await agent.get(url()));
    const again = await agent.get(page.url);
    expect(formOf(again).fields.csrf).not.toBe(formOf(page).fields.csrf);
  });
});
