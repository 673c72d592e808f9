/** Where service providers read metadata. @see SAML Metadata §4.1 */
import { type Extension, type ExtensionContext, IdpError } from '../../../lib/extension-door.js';
import type { Entities } from './entity.js';
import type { SamlKeys } from './keys.js';
import { answerMetadata, type MetadataOptions, metadataXml } from './metadata.js';

interface MetadataParts {
  readonly entities: Entities;
  readonly keys: SamlKeys;
  readonly options: MetadataOptions & { readonly tenantEntities: boolean };
}

type Router = Parameters<NonNullable<Extension['routes']>>[0];

export function metadataRoutes(router: Router, context: ExtensionContext, { entities, keys, options }: MetadataParts): void {
  const { own, ofInstance, directory } = context;
  const metadataOf = async (owner: string) => metadataXml(entities.of(owner), await keys.published(), options);

  router.get(`${own}/saml/metadata`, async (ctx) => answerMetadata(ctx, await metadataOf(ofInstance)));

  if (options.tenantEntities)
    router.get(`${own}/saml/t/:tid/metadata`, async (ctx) => {
      const tenant = await directory.tenants.get(String(ctx.params.tid));
      if (tenant?.status !== 'active') throw new IdpError('not_found');
      answerMetadata(ctx, await metadataOf(tenant.id));
    });
}
