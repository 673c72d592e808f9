/** Operations of the admin API on a tenant's entity: the values to register at service providers, and the settings. */
import { defineOperation, type Operation, type Static, strict, Type } from '../../../lib/extension-door.js';
import type { Entities } from './entity.js';
import type { EntitySettings, Settings } from './settings.js';

const wantAuthnRequestsSigned = Type.Boolean({
  description: 'Whether metadata of the entity requires signed requests, and the service refuses requests without a signature.',
});
const SamlEntity = Type.Object(
  {
    entityId: Type.String(),
    metadataUrl: Type.String(),
    singleSignOnUrl: Type.String(),
    singleLogoutUrl: Type.String(),
    wantAuthnRequestsSigned,
  },
  { $id: 'SamlEntity', ...strict },
);

const path = '/tenants/{tid}/saml-entity';

export interface SettingsParts {
  readonly entities: Entities;
  /** Whether tenants are entities. */
  readonly tenantEntities: boolean;
  readonly settings: Settings;
}

export function settingsOperations({ entities, tenantEntities, settings }: SettingsParts): readonly Operation[] {
  if (!tenantEntities) return [];
  const view = (tid: string, stored: EntitySettings): Static<typeof SamlEntity> => {
    const { entityId, metadataUrl, ssoUrl, sloUrl } = entities.ofOwner(tid);
    return { entityId, metadataUrl, singleSignOnUrl: ssoUrl, singleLogoutUrl: sloUrl, ...stored };
  };
  return [
    defineOperation({
      method: 'GET',
      path,
      scope: 'idp.saml-service-providers:read',
      summary: 'Reads the SAML entity of a tenant, which service providers of the tenant trust',
      answer: SamlEntity,
      handle: async ({ params: { tid } }) => view(tid, await settings.read(tid)),
    }),
    defineOperation({
      method: 'PATCH',
      path,
      scope: 'idp.saml-service-providers:write',
      summary: 'Changes whether the SAML entity of a tenant requires signed requests',
      body: Type.Object({ wantAuthnRequestsSigned: Type.Optional(wantAuthnRequestsSigned) }, strict),
      answer: SamlEntity,
      async handle({ params: { tid }, body, by, checkMatch }) {
        checkMatch(view(tid, await settings.read(tid)));
        return view(tid, await settings.change(tid, body, by));
      },
    }),
  ];
}
