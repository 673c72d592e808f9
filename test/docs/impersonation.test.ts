/** docs/impersonation.md shows the tokens and the answers of the service. */
import { expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { documented } from '../support/administration/admin.js';
import type { Json } from '../support/client/agent.js';
import { useIdp } from '../support/service/use-idp.js';
import { impersonatingAt, operatorOptions } from '../support/sign-in/impersonating.js';
import { pageAt } from './pages.js';

const service = useIdp(operatorOptions);
const page = pageAt('docs/impersonation.md');
const example = (section: string): Json =>
  JSON.parse(page.codeBlocks.find((block) => block.section === section && block.language === 'json')?.code ?? '');

test('the ID token has these members, of these kinds', async () => {
  const { act, redeem } = impersonatingAt(service);
  const { id_token: token } = await redeem((await act('carol@acme.test')).response);
  const kinds = (value: object): object =>
    Object.fromEntries(
      Object.entries(value)
        .map(([name, member]) => [name, typeof member === 'object' && !Array.isArray(member) ? kinds(member) : typeof member])
        .toSorted(),
    );
  const { acr: _, ...claims } = decodeJwt(token);
  expect(kinds(example('Tokens'))).toEqual(kinds(claims));
  expect(example('Tokens').amr).toEqual(claims.amr);
});

test('the answer of the admin API is of its schema', async () => {
  const { document, validator } = await documented(service.issuer);
  const isValid = validator(document.components.schemas.Impersonation);
  expect([isValid(example('Administration')), isValid.errors]).toEqual([true, null]);
});
