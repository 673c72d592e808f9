/** Sending of logout messages. Redirect is preferred, because POST needs a page. */
import { type Context, type ExtensionContext, redirectByGet } from '../../../lib/extension-door.js';
import type { SamlKeys } from '../entities/keys.js';
import { type MessageParameter, postFields, redirectUrl } from '../messages/send.js';
import { clientIdOf, type ServiceProvider } from '../service-providers/records.js';
import type { Signer } from '../xml/sign.js';

type LogoutService = ServiceProvider['singleLogoutServices'][number];

/** Returns the endpoint for logout messages; undefined if the service provider has no endpoint. */
export const logoutServiceOf = ({ singleLogoutServices: all }: Pick<ServiceProvider, 'singleLogoutServices'>): LogoutService | undefined =>
  all.find(({ binding }) => binding === 'redirect') ?? all[0];

/** Writes the message for a destination, signed if a signer is given. */
type Write = (destination: string, signer?: Signer) => string;

export type SendLogout = ReturnType<typeof createSendLogout>;

export const createSendLogout =
  ({ pages: { sendForm } }: Pick<ExtensionContext, 'pages'>, keys: Pick<SamlKeys, 'signer'>) =>
  async (
    ctx: Context,
    serviceProvider: ServiceProvider,
    { binding, url, responseUrl = url }: LogoutService,
    name: MessageParameter,
    write: Write,
    relayState?: string,
  ): Promise<void> => {
    const address = name === 'SAMLResponse' ? responseUrl : url;
    const signer = await keys.signer();
    if (binding === 'redirect') return redirectByGet(ctx, redirectUrl(address, name, write(address), relayState, signer));
    await sendForm(ctx, {
      action: address,
      fields: postFields(name, write(address, signer), relayState),
      client: clientIdOf(serviceProvider),
    });
  };
