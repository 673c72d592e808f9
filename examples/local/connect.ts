import { allowInsecureRequests, type Configuration, discovery } from 'openid-client';

/** Discovers the identity provider on first use. A failure is not cached. */
export function connect(issuer: string, clientId: string, clientSecret: string): () => Promise<Configuration> {
  let discovered: Promise<Configuration> | undefined;
  const execute = issuer.startsWith('http:') ? [allowInsecureRequests] : [];
  return () => {
    discovered ??= discovery(new URL(issuer), clientId, clientSecret, undefined, { execute }).catch((error: unknown) => {
      discovered = undefined;
      throw error;
    });
    return discovered;
  };
}
