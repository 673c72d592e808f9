import { type Html, html } from '../../../../lib/extension-door.js';
import type { Fields } from '../../view-models.js';

export const hiddenFields = (fields: Fields): Html[] =>
  Object.entries(fields).flatMap(([name, values]) =>
    [values].flat().map((value) =>
      // Browsers replace the value of a hidden input with this name. @see HTML §4.10.22.4
      name.toLowerCase() === '_charset_'
        ? html`<textarea name="${name}" hidden>\n${value}</textarea>`
        : html`<input type="hidden" name="${name}" value="${value}">`,
    ),
  );
