/** A service that has the forms of all extensions, and paths of its routes. */
import { saml } from 'tenant-idp/extensions/saml';
import { captureMail, invitingSeed, personalTenant } from '../administration/invitations.js';
import { testKeyOf } from '../saml/keys/test-keys.js';
import { samlOptions } from '../saml/service/administration.js';
import { type IdpInUse, useIdp } from '../service/use-idp.js';
import { permission } from '../sign-in/impersonating.js';

export const useAllForms = (): IdpInUse =>
  useIdp(async () => {
    const { key, certificate } = await testKeyOf('identity provider');
    return {
      ...samlOptions,
      seed: { ...invitingSeed, permissions: [...invitingSeed.permissions, { id: permission, name: 'Act as others' }] } as never,
      mail: captureMail().mail,
      personalTenant,
      impersonation: { permission },
      extensions: [saml({ keys: [{ key, certificate }] })],
    };
  });

/**
 * Returns the path of a route such as `POST /idp/interaction/:uid`, in a sign-in. The service does not know the values of the other
 * parameters.
 * @param page page of the sign-in
 */
export function pathOf(route: string, page: { readonly url: string }): string {
  const uid = new URL(page.url).pathname.split('/')[3] ?? '';
  return route.replace(/^\w+ /, '').replace(':uid', uid).replace(/:\w+/g, 'unknown');
}
