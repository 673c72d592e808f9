/** House §5: the start refuses invalid answers of an extension's functions, and names the extension and the member. */
import { describe, expect, test } from '@jest/globals';
import { ConfigError } from 'tenant-idp';
import type { Extension } from 'tenant-idp/extension';
import { clientEndpointOf } from '../../lib/contract/assembly/contributions.js';
import { startIdp } from '../support/service/idp.js';

const rejected = (members: object): Promise<unknown> =>
  startIdp({ extensions: [{ name: 'mine', ...members } as Extension] }).then(
    async ({ close }) => close(),
    (error: unknown) => error,
  );
const grant = 'urn:example:slip';

describe('refused at the start', () => {
  test.each<[string, object, string]>([
    ['no grant type', { grantTypes: { [grant]: () => undefined } }, `grantTypes["${grant}"]`],
    ['a promise of one', { grantTypes: { [grant]: async () => ({ parameters: [], exchange() {} }) } }, `grantTypes["${grant}"]`],
    ['a grant type without exchange', { grantTypes: { [grant]: () => ({ parameters: [] }) } }, `grantTypes["${grant}"]`],
    ['a grant type without parameters', { grantTypes: { [grant]: () => ({ exchange() {} }) } }, `grantTypes["${grant}"]`],
    ['clients that are not found', { clients: () => new Map() }, 'clients'],
    ['no clients', { clients: () => undefined }, 'clients'],
    ['no participant', { logoutParticipant: () => undefined }, 'logoutParticipant'],
    ['notices that are no function', { logoutParticipant: () => ({ notices: [] }) }, 'logoutParticipant'],
    ['half a rule of acting', { impersonation: () => ({ mayGoOn: () => true }) }, 'impersonation'],
  ])('%s', async (_, members, member) => {
    const error = await rejected(members);
    expect(error).toBeInstanceOf(ConfigError);
    expect(error).toMatchObject({ code: 'invalid_options', problems: [{ path: `extensions.mine.${member}` }] });
  });

  test('and says what was found', async () => {
    expect(String(await rejected({ grantTypes: { [grant]: async () => ({}) } }))).toContain('got a promise (is an await missing?)');
  });
});

test('an endpoint without an answer is refused too', () => {
  const extension = { name: 'mine', clientEndpoints: { backchannel_authentication: () => ({ grantType: 'x', parameters: [] }) as never } };
  expect(clientEndpointOf([extension], () => ({}) as never)).toThrow(
    /extensions\.mine\.clientEndpoints\.backchannel_authentication: expected an object with grantType.*got an object/,
  );
});

test('members on the prototype of a class are there', async () => {
  class Applications {
    find() {
      return undefined;
    }
  }
  expect(await rejected({ clients: () => new Applications(), logoutParticipant: () => ({}) })).toBeUndefined();
});
