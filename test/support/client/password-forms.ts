/** Forms with a password, as a password manager reads them. */

const attribute = (tag: string, name: string): string | undefined => new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1];

const isPassword = (tag: string): boolean => attribute(tag, 'type') === 'password';

/** Whether the input is a user name that is on the page, or is typed before the password. */
const isUserName = (tag: string): boolean =>
  attribute(tag, 'type') === 'text' &&
  attribute(tag, 'autocomplete') === 'username' &&
  (Boolean(attribute(tag, 'value')) || !/\sreadonly\b/.test(tag));

const inputsIn = (markup: string): string[] => [...markup.matchAll(/<input\b[^>]*>/g)].map(([tag]) => tag);

export const hasPassword = (markup: string): boolean => inputsIn(markup).some(isPassword);

/** Returns the inputs of a page whose passwords a password manager would save without a user name, as in the markup. */
export function passwordsWithoutUserName(markup: string): string[] {
  if (!hasPassword(markup)) return [];
  const forms = [...markup.matchAll(/<form\b[^>]*>[\s\S]*?<\/form>/g)].map(([form]) => form);
  const outside = inputsIn(forms.reduce((rest, form) => rest.replace(form, ''), markup)).filter(isPassword);
  const unnamed = forms.map(inputsIn).flatMap((inputs) => {
    const named = inputs.findIndex(isUserName);
    return inputs.filter((tag, at) => isPassword(tag) && (named === -1 || named > at));
  });
  return [...outside, ...unnamed];
}
