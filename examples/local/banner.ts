import { accounts, clients, vandelay } from './seed.js';
import type { Settings } from './settings.js';

/**
 * Returns the text that the demo prints at its start.
 * @param ownProvider URL of the organisation's own provider.
 */
export function banner({ issuer, rpOrigin, hasSaml, data }: Settings, ownProvider: string): string {
  const rows = (entries: readonly (readonly string[])[]) => {
    const widths = [0, 1].map((column) => Math.max(...entries.map((entry) => entry[column]?.length ?? 0)));
    return entries.map(([one = '', two = '', three = '']) =>
      `    ${one.padEnd(widths[0] ?? 0)}  ${two.padEnd(widths[1] ?? 0)}  ${three}`.trimEnd(),
    );
  };
  return [
    '',
    `  Open ${rpOrigin} and sign in.`,
    '',
    '  Addresses',
    ...rows([
      [rpOrigin, 'the relying party'],
      [`${rpOrigin}/spa`, 'a public client in the browser'],
      [`${rpOrigin}/back-office`, 'who is there, invitations, links and events, by the admin API'],
      [`${rpOrigin}/mail`, 'what is mailed'],
      [`${rpOrigin}/call-centre`, `asks people to sign in on their own device; ${rpOrigin}/phone shows it`],
      ...(hasSaml
        ? [
            [`${rpOrigin}/saml`, 'a service provider, which speaks SAML alone'],
            [`${issuer}/idp/saml/metadata`, 'the identity provider in SAML'],
          ]
        : []),
      [ownProvider, `${vandelay.name}’s own provider, another product`],
      [issuer, `the identity provider; /.well-known/openid-configuration describes it`],
    ]),
    '',
    '  Accounts (user name, password)',
    ...rows(accounts.map(({ userName, password, who }) => [userName, password ?? '', who])),
    '',
    '  Clients (id, secret)',
    ...rows(clients.map(({ id, secret, what }) => [id, secret ?? '', what])),
    '',
    `  Ctrl-C ends it. PORT, RP_PORT and ISSUER run it elsewhere.${hasSaml ? '' : ' npm start -- --saml adds SAML.'}`,
    data === undefined
      ? '  Records are lost at the end. npm start -- --data demo.db keeps them in a file (Node 22.13 or later).'
      : `  Records are kept in ${data}, and the keys that encrypt them in ${data}.keys.json.`,
    '',
  ].join('\n');
}
