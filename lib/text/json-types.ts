/** Types of JSON Schema, in the words of errors. */
export const jsonTypes: Readonly<Record<string, string>> = {
  string: 'a string',
  boolean: 'true or false',
  number: 'a number',
  integer: 'a whole number',
  object: 'an object: { … }',
  array: 'a list: [ … ]',
};
