/** SAML 2.0 identity provider: off unless it is among the `extensions`. */
import type { Extension } from '../../lib/extension-door.js';
import { serviceProviders } from './service-providers/records.js';

export const saml = (): Extension => ({ name: 'saml', collections: [serviceProviders] });
