/** What an administrator says of a new service provider, and where. */

/** Service providers of the instance. */
export const ofInstance = '/saml-service-providers';

/** Service providers of a tenant. */
export const ofTenant = (tid: string | undefined): string => `/tenants/${tid}/saml-service-providers`;

let made = 0;
/** As little as there has to be, of a service provider that there was not before. */
export const given = (more: object = {}) => {
  made += 1;
  const url = `https://sp${made}.example`;
  return { entityId: `${url}/metadata`, assertionConsumerServices: [{ url: `${url}/acs` }], ...more };
};
