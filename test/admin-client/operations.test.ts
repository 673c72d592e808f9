/** The types of the admin client are those of the operations that the service mounts. */
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { useIdp } from '../support/service/use-idp.js';
import { type OpenApi, operationsSource } from './operations-source.js';

const service = useIdp();

test('lib/admin-client/operations.ts is what `npm run admin-client` writes', async () => {
  const document = (await (await fetch(`${service.issuer}/idp/api/v1/openapi.json`)).json()) as OpenApi;
  expect(readFileSync('lib/admin-client/operations.ts', 'utf8')).toBe(operationsSource(document));
});
