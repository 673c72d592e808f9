/** Fields of a new service provider, as an administrator sends them, and their path. */

/** Path of the service providers of the instance. */
export const ofInstance = '/saml-service-providers';

/** Returns the path of the service providers of a tenant. */
export const ofTenant = (tid: string | undefined): string => `/tenants/${tid}/saml-service-providers`;

let made = 0;
/** Returns the required members of a new service provider. */
export const given = (more: object = {}) => {
  made += 1;
  const url = `https://sp${made}.example`;
  return { entityId: `${url}/metadata`, assertionConsumerServices: [{ url: `${url}/acs` }], ...more };
};
