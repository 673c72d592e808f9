/** PHC strings: a password hash with the algorithm and parameters that made it, `$algorithm$parameters$salt$hash`. @see the PHC string format */

export interface Phc {
  readonly algorithm: string;
  /** Parameters as in the string: `ln=14,r=8,p=5`. */
  readonly parameters: string;
  readonly salt: Buffer;
  readonly hash: Buffer;
}

/** Encodes bytes in Base64 without padding. */
const encode = (bytes: Buffer): string => bytes.toString('base64').replaceAll('=', '');

export const formatPhc = ({ algorithm, parameters, salt, hash }: Phc): string =>
  `$${algorithm}$${parameters}$${encode(salt)}$${encode(hash)}`;

/** Returns the parts of a PHC string; undefined for a text of another form. */
export function parsePhc(text: string): Phc | undefined {
  const match = /^\$([a-z0-9-]+)\$((?:v=\d+\$)?[a-z]+=\d+(?:,[a-z]+=\d+)*)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/.exec(text);
  if (match === null) return undefined;
  const [, algorithm = '', parameters = '', salt = '', hash = ''] = match;
  return { algorithm, parameters, salt: Buffer.from(salt, 'base64'), hash: Buffer.from(hash, 'base64') };
}

/** Returns a numeric parameter; 0 if it is missing, which no algorithm accepts. */
export const phcParameter = ({ parameters }: Pick<Phc, 'parameters'>, name: string): number =>
  Number(new RegExp(`(?:^|[,$])${name}=(\\d+)`).exec(parameters)?.[1] ?? 0);
