/** Fields of the profile page for attributes that the option `attributes.selfService` lets users change. */
import {
  cleanText,
  type ExtensionContext,
  type InLanguage,
  type OwnAttribute,
  type Person,
  type Text,
  type ViewPart,
} from '../../lib/extension-door.js';

/** Maximum characters of an attribute that users type, if the form has room for them. */
const MOST_TEXT = 4096;
/** Bytes of a form that are left for attributes. The rest is for the other members of the person, and for the token of the form. */
const FORM_BYTES = 44 * 1024;
/** Maximum bytes of a character of JavaScript in a form: three bytes in UTF-8, with three characters each in percent-encoding. */
const CHARACTER_BYTES = 9;
/** Maximum bytes of a field in addition to its name and its text, which include what the user saw. */
const FIELD_BYTES = 120;

/**
 * Returns the maximum characters of each text, by the names of the attributes. The form posts all fields, so they share the size of a form. A text of the
 * schema needs two characters of JavaScript for each character at most. A text that needs less than its share leaves the rest to the others.
 */
export function maximumsOf(attributes: readonly OwnAttribute[]): ReadonlyMap<string, number> {
  const fixed = attributes.reduce((sum, attribute) => sum + encodeURIComponent(attributeField(attribute)).length + FIELD_BYTES, 0);
  const wanted = attributes
    .filter(({ type }) => type === 'string')
    .map(({ name, maxLength = MOST_TEXT }) => ({ name, most: Math.min(MOST_TEXT, 2 * maxLength) }))
    .sort((one, other) => one.most - other.most);
  let left = Math.max(0, Math.floor((FORM_BYTES - fixed) / CHARACTER_BYTES));
  return new Map(
    wanted.map(({ name, most }, index) => {
      const maximum = Math.min(most, Math.floor(left / (wanted.length - index)));
      left -= maximum;
      return [name, maximum];
    }),
  );
}

/** Returns the name of the field in the form. The name has no character that a form or a page interprets. */
export const attributeField = ({ name }: OwnAttribute): string => `attribute-${encodeURIComponent(name)}`;

/** Returns the text of the field: empty for an absent value, and for a value of another type than the schema has now. */
export function attributeText({ name, type, choices }: OwnAttribute, { attributes }: Pick<Person, 'attributes'>): string {
  const value = Object.hasOwn(attributes, name) ? attributes[name] : undefined;
  if (type === 'enum') {
    const place = choices.indexOf(value as string);
    return place < 0 ? '' : String(place);
  }
  if (type === 'string') return typeof value === 'string' ? cleanText('line', value) : '';
  return typeof value === (type === 'boolean' ? 'boolean' : 'number') ? String(value) : '';
}

/**
 * Returns whether a form can show the attribute. The form has one line, so it would cut a longer text, and join the lines of a text.
 * @param maximum maximum characters of a text
 */
export function isShowable({ name, type }: OwnAttribute, { attributes }: Pick<Person, 'attributes'>, maximum: number): boolean {
  const value = Object.hasOwn(attributes, name) ? attributes[name] : undefined;
  return type !== 'string' || typeof value !== 'string' || (value.length <= maximum && !/[\r\n\u2028\u2029]/.test(value));
}

/** Returns the value that the user typed or selected, `null` for none, or the problem of the field. */
export function typedValue({ type, choices }: OwnAttribute, text: string): { readonly value: unknown } | { readonly problem: Text } {
  if (text === '') return { value: null };
  if (type === 'string') return { value: text };
  if (type === 'boolean' && (text === 'true' || text === 'false')) return { value: text === 'true' };
  if (type === 'enum' || type === 'boolean') {
    const value = /^\d{1,6}$/.test(text) ? choices[Number(text)] : undefined;
    return value === undefined ? { problem: 'account.profile.notInList' } : { value };
  }
  const form = type === 'integer' ? /^[-+\u2212]?\d{1,15}$/ : /^[-+\u2212]?\d{1,15}(?:[.,]\d{1,15})?$/;
  if (!form.test(text)) return { problem: type === 'integer' ? 'account.profile.noWholeNumber' : 'account.profile.noNumber' };
  // The text `1.000` is a thousand in some languages, and one in others.
  if (/^[-+\u2212]?[1-9]\d{0,2}[.,]\d{3}$/.test(text)) {
    const values = { thousands: text.replace(/[.,]/, ''), decimals: `${text}0` };
    return { problem: { key: 'account.profile.ambiguousNumber', values } };
  }
  // With more digits, another number would be saved.
  if (text.replace(/\D/g, '').replace(/^0+/, '').length > 15) return { problem: 'account.profile.tooManyDigits' };
  return { value: Number(text.replace('\u2212', '-').replace(',', '.')) };
}

/** Returns the words for a text of the field. */
export function attributeWords({ type, choices }: OwnAttribute, text: string, { texts }: ExtensionContext['pages']): string | InLanguage {
  if (type === 'enum') return String(choices[Number(text)]);
  return type === 'boolean' ? { inLanguage: (locale) => texts(locale)[yesOrNo(text)] ?? text } : text;
}

const yesOrNo = (text: string): string => (text === 'true' ? 'account.profile.yes' : 'account.profile.no');

/** Returns the field with its title in the schema. */
export function attributePart(attribute: OwnAttribute, value: string, problem: Text | undefined): ViewPart {
  const { title, type, choices } = attribute;
  const name = attributeField(attribute);
  const common = { part: 'field', name, label: { plain: title }, value, ...(problem !== undefined && { problem }) } as const;
  // A person who changes something else need not enter an attribute that the schema requires.
  if (type !== 'enum' && type !== 'boolean') return { ...common, isOptional: true };
  const options =
    type === 'enum'
      ? choices.map((choice, index) => ({ value: String(index), title: { plain: String(choice) } }))
      : ['true', 'false'].map((text) => ({ value: text, title: yesOrNo(text) }));
  return { ...common, kind: 'select', options: [{ value: '', title: 'account.profile.none' }, ...options] };
}
