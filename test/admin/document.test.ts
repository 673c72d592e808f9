/** Deliverable "OpenAPI": two validators accept the document, and requests drawn from it get answers that the document has. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { validate } from '@readme/openapi-parser';
import { Validator } from '@seriousme/openapi-schema-validator';
import { type AdminClient, administer, adminSeed, adminToken, documented, tenantIds } from '../support/administration/admin.js';
import { makeRecords, meant } from '../support/administration/admin-matrix.js';
import type { Json } from '../support/client/agent.js';
import { drawing, oneOf, sample } from '../support/requests/schema-samples.js';
import { expectQuietLog } from '../support/service/leaks.js';
import { useIdp } from '../support/service/use-idp.js';

const REQUESTS = process.env.PROVE ? 20_000 : 500;

const service = useIdp({ seed: adminSeed, limits: { adminRequestsPerMinute: 1_000_000 } });
let root: AdminClient;
beforeAll(async () => {
  root = administer(service.issuer, await adminToken(service.issuer, 'root'));
});

describe('the OpenAPI document', () => {
  test('is valid by two validators', async () => {
    const { document } = await documented(service.issuer);
    expect(await validate(structuredClone(document))).toMatchObject({ valid: true });
    const { valid, errors } = await new Validator().validate(structuredClone(document));
    expect([valid, errors]).toEqual([true, undefined]);
  });

  test('lists each operation once, with a name, a scope, and every refusal that it has', async () => {
    const { operations } = await documented(service.issuer);
    const names = operations.map(({ operation }) => operation.operationId);
    expect(new Set(names).size).toBe(names.length);
    for (const { operation } of operations)
      expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(['400', '401', '403', '429', '503']));
  });

  test('lets each filter have the longest value that a record can have', async () => {
    const { document, operations } = await documented(service.issuer);
    const longest = new Map<string, number>();
    const collect = (schema: Json, name = ''): void => {
      const named = schema.$ref && document.components.schemas[schema.$ref.split('/').at(-1)];
      for (const each of [...(named ? [named] : []), ...(schema.anyOf ?? []), ...(schema.allOf ?? [])]) collect(each, name);
      if (typeof schema.maxLength === 'number') longest.set(name, Math.max(longest.get(name) ?? 0, schema.maxLength));
      for (const [member, inner] of Object.entries((schema.properties ?? {}) as Record<string, Json>)) collect(inner, member);
    };
    for (const { method, operation } of operations)
      if (method === 'POST')
        for (const { schema } of Object.values((operation.requestBody?.content ?? {}) as Record<string, { schema: Json }>)) collect(schema);
    const filters = operations.flatMap(({ method, path, operation }) =>
      method === 'GET'
        ? (operation.parameters as { in: string; name: string; schema: Json }[])
            .filter((parameter) => parameter.in === 'query' && parameter.schema.maxLength !== undefined && parameter.name !== 'after')
            .map(({ name, schema }) => ({ path, name, most: Number(schema.maxLength) }))
        : [],
    );
    const nameOf = (path: string) =>
      /\/(persons|users)$/.test(path) ? (longest.get('givenName') ?? 0) + 1 + (longest.get('familyName') ?? 0) : 0;
    const needed = ({ path, name }: { path: string; name: string }) =>
      Math.max(longest.get(name) ?? Number.POSITIVE_INFINITY, name === 'name' ? nameOf(path) : 0);
    expect(filters.filter((filter) => filter.most < needed(filter))).toEqual([]);
    expect(new Set(filters.map(({ name }) => name))).toEqual(new Set(['name', 'email', 'userName', 'externalId']));
    expect([longest.get('email'), longest.get('userName'), nameOf('/users')]).toEqual([254, 256, 401]);
  });

  test(`documents what ${REQUESTS} requests drawn from it get`, async () => {
    const { operations, document } = await documented(service.issuer);
    const tids = Object.values(await tenantIds(root));
    const own = await makeRecords(root, tids[0] ?? '');
    const draw = drawing(process.env.PROVE ? Date.now() : 1);
    const odd = ['x', '%00', '..%2f..', '01890a5d-ac96-774b-bcce-b302099a8057', '__proto__', '%ff', 'x'.repeat(500), "'; drop"];
    const ids = Object.values(own);
    const statuses = new Map<number, number>();
    // Left out: writes that end records which the others need.
    const drawn = operations.filter(({ method, path }) => !path.endsWith('/disable') && `${method} ${path}` !== 'DELETE /tenants/{tid}');
    for (let request = 0; request < REQUESTS; request += 1) {
      const { method, path, operation } = oneOf(draw, drawn);
      const url = path.replace(/\{(\w+)\}/g, (_, name) => {
        const isRight = draw() < (name === 'tid' ? 0.8 : 0.3);
        return (isRight && meant(path, name, own)) || oneOf(draw, draw() < 0.7 ? ids : odd);
      });
      const options = { document, draw, oddness: oneOf(draw, [0, 0, 0.05, 0.3]), ids };
      const query = (operation.parameters as { in: string; name: string; schema: object }[])
        .filter((parameter) => parameter.in === 'query' && draw() < 0.3)
        .map(({ name, schema }) => `${name}=${encodeURIComponent(String(sample(schema, options, name)))}`);
      const [[type = '', content] = []] = Object.entries((operation.requestBody?.content ?? {}) as Record<string, { schema: object }>);
      const body = content && JSON.stringify(sample(content.schema, options));
      const headers: Record<string, string> = {
        ...(content && { 'content-type': draw() < 0.95 ? type : 'text/plain' }),
        ...(draw() < 0.1 ? { 'idempotency-key': oneOf(draw, ['a', 'b', 'c d', 'x'.repeat(300)]) } : {}),
        ...(draw() < 0.1 ? { 'if-match': oneOf(draw, ['*', '"x"', 'W/"x"', 'x']) } : {}),
      };
      // The client compares each answer with the document.
      const { status } = await root(url + (query.length > 0 ? `?${query.join('&')}` : ''), {
        method,
        ...(body === undefined ? {} : { body }),
        headers,
      });
      expect([method, url, status < 500]).toEqual([method, url, true]);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    expect([...statuses.keys()]).toEqual(expect.arrayContaining([200, 201, 204, 400, 404, 415, 422]));
    // A drawn request may have created a webhook.
    expectQuietLog({
      ...service,
      logged: service.logged.filter(([, message]) => message !== 'the service could not deliver an event to a webhook, and retries'),
    });
  });
});
