/** Operations of the admin API on SAML signing keys: how administrators rotate signing keys while service providers refresh metadata. */
import { defineOperation, IdpError, instant, type Operation, oneOf, type Static, strict, Type } from '../../../lib/extension-door.js';
import { x509Of } from './certificate.js';
import type { SamlKey, SamlKeys } from './keys.js';

const SamlSigningKey = Type.Object(
  {
    id: Type.String(),
    state: oneOf(['active', 'next', 'retiring'], {
      description: 'The signing key that is `active` signs. Metadata has all SAML signing keys.',
    }),
    certificate: Type.String({ description: 'X.509 certificate as PEM, for service providers that do not read metadata.' }),
    fingerprint: Type.String({ description: 'SHA-256 fingerprint of the certificate.' }),
    validFrom: instant('when the certificate begins'),
    validTo: instant('when it ends'),
    createdAt: Type.Optional(instant('when the key was made and published; absent where the options give it')),
    activatedAt: Type.Optional(instant('when it began to sign last')),
    retiredAt: Type.Optional(instant('when another took over')),
  },
  { $id: 'SamlSigningKey', ...strict },
);

const PATH = '/saml-signing-keys';
const ONE = `${PATH}/{id}`;
const read = { scope: 'idp.saml-signing-keys:read' } as const;
const write = { scope: 'idp.saml-signing-keys:write' } as const;

function view({ id, state, certificate, createdAt, activatedAt, retiredAt }: SamlKey): Static<typeof SamlSigningKey> {
  const x509 = x509Of(certificate);
  return {
    id,
    state,
    certificate: x509.toString(),
    fingerprint: x509.fingerprint256,
    validFrom: new Date(x509.validFrom).toISOString(),
    validTo: new Date(x509.validTo).toISOString(),
    ...(createdAt !== undefined && { createdAt }),
    ...(activatedAt !== undefined && { activatedAt }),
    ...(retiredAt !== undefined && { retiredAt }),
  };
}

export function keyOperations(keys: SamlKeys): readonly Operation[] {
  const find = async (id: string): Promise<SamlKey> => {
    const key = (await keys.list()).find((one) => one.id === id);
    if (key === undefined) throw new IdpError('not_found');
    return key;
  };
  return [
    defineOperation({
      ...read,
      method: 'GET',
      path: PATH,
      summary: 'Lists the SAML signing keys, without their private parts',
      answer: Type.Object({ items: Type.Array(SamlSigningKey) }, strict),
      handle: async () => ({ items: (await keys.list()).map(view) }),
    }),
    defineOperation({
      ...read,
      method: 'GET',
      path: ONE,
      summary: 'Reads a SAML signing key, without its private part',
      answer: SamlSigningKey,
      handle: async ({ params }) => view(await find(params.id)),
    }),
    defineOperation({
      ...write,
      method: 'POST',
      path: PATH,
      summary: 'Creates the next SAML signing key, which metadata has immediately',
      body: Type.Object({}, strict),
      answer: SamlSigningKey,
      status: 201,
      errors: ['keys_given', 'saml_next_key_exists', 'saml_key_limit'],
      handle: async (request) => view(await keys.add(request.newId(), request.by)),
    }),
    defineOperation({
      ...write,
      method: 'POST',
      path: `${ONE}/activate`,
      summary: 'Activates a SAML signing key, and keeps the previous signing key in metadata until it is removed',
      body: Type.Object(
        {
          now: Type.Optional(
            Type.Boolean({
              description:
                'Whether the signing key signs immediately, before service providers had a day to read its certificate, because another signing key is compromised.',
            }),
          ),
        },
        strict,
      ),
      answer: SamlSigningKey,
      errors: ['keys_given', 'key_not_announced'],
      handle: async ({ params, body, by }) => view(await keys.activate(params.id, body.now ?? false, by)),
    }),
    defineOperation({
      ...write,
      method: 'DELETE',
      path: ONE,
      summary: 'Removes a SAML signing key that does not sign',
      errors: ['keys_given', 'saml_key_active'],
      handle: async ({ params, by, checkMatch }) => {
        checkMatch(view(await find(params.id)));
        await keys.remove(params.id, by);
      },
    }),
  ];
}
