import { type Client, type Configuration, errors, type KoaContextWithOIDC, type ResourceServer } from 'oidc-provider';
import type { OidcParts } from '../context.js';

type ResourceIndicators = NonNullable<NonNullable<Configuration['features']>['resourceIndicators']>;

/**
 * Returns the settings of resource indicators. `resource` is the id of an API resource, unless the host configures another meaning. The scopes of an API
 * resource are always the scopes of the directory. @see RFC 8707 §2
 */
export function resourceIndicators({ options, directory }: OidcParts): ResourceIndicators {
  const { resourceIndicators: given } = options.features;
  if (!given?.enabled) return { enabled: false };
  const ofDirectory = async (_ctx: KoaContextWithOIDC, resource: string): Promise<ResourceServer> => {
    const apiResource = await directory.apiResources.get(resource);
    if (apiResource?.status !== 'active')
      throw new errors.InvalidTarget('The resource is unknown or disabled. Send the id of an active API resource.');
    return { scope: apiResource.scopes.join(' '), audience: apiResource.id };
  };
  const { getResourceServerInfo = ofDirectory } = given;
  return {
    ...given,
    async getResourceServerInfo(ctx: KoaContextWithOIDC, resource: string, client: Client) {
      const info = await getResourceServerInfo(ctx, resource, client);
      if (info?.jwt)
        throw new TypeError(
          'features.resourceIndicators.getResourceServerInfo returned jwt, although only the keys of the service sign. Return no jwt.',
        );
      return info;
    },
  };
}

/** Returns the scopes that the request asks for at each of its resources. */
export function resourceScopesOf(ctx: KoaContextWithOIDC, scopes: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const servers = Object.entries(ctx.oidc.resourceServers ?? {});
  return new Map(servers.map(([resource, server]) => [resource, scopes.filter((scope) => server.scopes.has(scope))]));
}
