/** The operator's pages of the relying party: persons, invitations, account links and events, all by the admin API. */
import Router from '@koa/router';
import type { Context } from 'koa';
import bodyParser from 'koa-bodyparser';
import { fetchUserInfo } from 'openid-client';
import { createAdminClient, isAdminApiError } from 'tenant-idp/admin-client';
import { connect } from './connect.js';
import { acme, adminScopes, backOfficePermission, globex } from './seed.js';
import { sessionOf } from './sessions.js';
import { backOfficePage, type Person } from './views/back-office.js';
import { errorPage } from './views/error.js';

const tenants = [acme, globex];

export function createBackOffice(issuer: string): Router {
  const configuration = connect(issuer, 'web', 'web-secret');
  const admin = createAdminClient({ issuer, clientId: 'back-office', clientSecret: 'back-office-secret', scopes: adminScopes });

  async function isOperator(ctx: Context): Promise<boolean> {
    const signedIn = sessionOf(ctx)?.signedIn;
    if (!signedIn) return false;
    const { perm } = await fetchUserInfo(await configuration(), signedIn.tokens.access_token, signedIn.claims.sub);
    return Array.isArray(perm) && perm.includes(backOfficePermission);
  }

  async function personsOf(tid: string): Promise<readonly Person[]> {
    const persons: Person[] = [];
    for await (const person of admin.each('GET /tenants/{tid}/persons', { params: { tid } })) persons.push(person);
    return persons;
  }

  async function show(ctx: Context, problem?: string): Promise<void> {
    const organisations = await Promise.all(tenants.map(async (tenant) => ({ ...tenant, persons: await personsOf(tenant.id) })));
    ctx.body = backOfficePage({ organisations, ...(problem === undefined ? {} : { problem }) });
  }

  /** Runs an operation, and shows its result, or the refusal of the API. */
  const act = (what: (fields: Readonly<Record<string, string>>) => Promise<unknown>) => async (ctx: Context) => {
    try {
      await what(ctx.request.body as Readonly<Record<string, string>>);
    } catch (error) {
      if (!isAdminApiError(error)) throw error;
      ctx.status = 400;
      return show(ctx, error.message);
    }
    ctx.status = 303;
    ctx.redirect('/back-office');
  };

  return new Router({ prefix: '/back-office' })
    .use(async (ctx, next) => {
      if (await isOperator(ctx)) return next();
      ctx.status = 403;
      ctx.body = errorPage(
        'The back office is closed to you',
        'Sign in as olga@acme.test, who may open it.',
        `permission ${backOfficePermission}`,
      );
    })
    .use(bodyParser({ enableTypes: ['form'] }))
    .get('/', (ctx) => show(ctx))
    .post(
      '/invite',
      act(async ({ tid = '', givenName = '', familyName = '', email = '' }) => {
        const invitation = { send: true, clientId: 'web' };
        const body = { givenName, familyName, email, user: { userName: email }, invitation };
        await admin.request('POST /tenants/{tid}/persons', { params: { tid }, body });
      }),
    )
    .post(
      '/link',
      act(async ({ child = '', parentId = '' }) => {
        const [tid = '', id = ''] = child.split(' ');
        await admin.request('POST /tenants/{tid}/users/{id}/link/{parentId}', { params: { tid, id, parentId } });
      }),
    )
    .get('/events', async (ctx) => {
      const { after } = ctx.query;
      ctx.body = await admin.request('GET /events', { query: { limit: 200, ...(typeof after === 'string' && after !== '' && { after }) } });
    });
}
