/** docs/administration.md describes the admin API as it is. */
import { expect, test } from '@jest/globals';
import { errors } from '../../extensions/admin/errors.js';
import { errors as ofPasswords } from '../../extensions/passwords/operations.js';
import { documented } from '../support/administration/admin.js';
import { useIdp } from '../support/service/use-idp.js';
import { pageAt } from './pages.js';

const service = useIdp();
const page = pageAt('docs/administration.md');

test('resources are those that there are scopes for', async () => {
  const { document } = await documented(service.issuer);
  const scopes = Object.keys(document.components.securitySchemes.accessToken.flows.clientCredentials.scopes);
  const resources = new Set(scopes.map((scope) => scope.replace(/^idp\.|:.*$/g, '')));
  expect(
    page
      .table('Resources', 'Resource')
      .map(([name]) => name)
      .toSorted(),
  ).toEqual([...resources].toSorted());
});

test('errors are those of the code, with their status and words', () => {
  const codes = { ...errors.codes, ...ofPasswords.codes };
  expect(page.table('Errors', 'Code').toSorted()).toEqual(
    Object.entries(codes)
      .map(([code, { status, description }]) => [code, String(status), description])
      .toSorted(),
  );
});
