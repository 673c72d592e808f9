/**
 * Entities that service providers trust: the instance, at `/idp/saml`, and each tenant, at `/idp/saml/t/{tid}`. Tenants are entities because many products
 * take one entityID for all their customers. All entities sign with the same signing key.
 */
import type { ExtensionContext } from '../../../lib/extension-door.js';

export interface Entity {
  /** Owner of the entity's service providers: a tenant's id, or `ofInstance`. */
  readonly owner: string;
  /** Tenant whose users may sign in at the entity; absent for the instance. */
  readonly tid?: string;
  /** @default the URL of the entity's metadata */
  readonly entityId: string;
  readonly metadataUrl: string;
  readonly ssoUrl: string;
  readonly sloUrl: string;
}

/** Parts of the context that entities need. */
interface EntityContext {
  readonly service: Pick<ExtensionContext['service'], 'url' | 'own'>;
  readonly records: Pick<ExtensionContext['records'], 'ofInstance'>;
}

export function createEntities({ service: { url, own }, records: { ofInstance } }: EntityContext, entityId?: string) {
  const urlsBelow = (base: string): Pick<Entity, 'metadataUrl' | 'ssoUrl' | 'sloUrl'> => ({
    metadataUrl: url(`${base}/metadata`),
    ssoUrl: url(`${base}/sso`),
    sloUrl: url(`${base}/slo`),
  });
  const instanceUrls = urlsBelow(`${own}/saml`);
  const instance: Entity = { owner: ofInstance, entityId: entityId ?? instanceUrls.metadataUrl, ...instanceUrls };
  return {
    /** Returns the entity of an owner. @param owner a tenant's id, or `ofInstance` */
    ofOwner(owner: string): Entity {
      if (owner === ofInstance) return instance;
      const urls = urlsBelow(`${own}/saml/t/${encodeURIComponent(owner)}`);
      return { owner, tid: owner, entityId: urls.metadataUrl, ...urls };
    },
  };
}

export type Entities = ReturnType<typeof createEntities>;
