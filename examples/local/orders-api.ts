/** A resource server, which introspects access tokens at the identity provider. */
import Router from '@koa/router';
import { tokenIntrospection } from 'openid-client';
import { connect } from './connect.js';
import { acme, globex } from './seed.js';

const orders = [
  { id: 'A-1001', tid: acme.id, item: 'Anvil', quantity: 2 },
  { id: 'A-1002', tid: acme.id, item: 'Rocket skates', quantity: 1 },
  { id: 'G-2001', tid: globex.id, item: 'Widget', quantity: 500 },
];

/** Creates `GET /api/orders`: the orders of the user's organisation. A service belongs to no organisation, and gets all orders. */
export function createOrdersApi(issuer: string): Router {
  const configuration = connect(issuer, 'orders', 'orders-secret');
  return new Router().get('/api/orders', async (ctx) => {
    const token = /^Bearer ([\w.~+/-]+=*)$/i.exec(ctx.get('authorization'))?.[1];
    if (!token) {
      ctx.set('WWW-Authenticate', 'Bearer');
      ctx.status = 401;
      return;
    }
    const { active, scope = '', tid } = await tokenIntrospection(await configuration(), token);
    if (!active || !scope.split(' ').includes('orders.read')) {
      ctx.set('WWW-Authenticate', `Bearer error="${active ? 'insufficient_scope' : 'invalid_token'}"`);
      ctx.status = active ? 403 : 401;
      return;
    }
    const visible = orders.filter((order) => tid === undefined || order.tid === tid);
    ctx.body = { orders: visible.map(({ id, item, quantity }) => ({ id, item, quantity })) };
  });
}
