/** A QR code as inline SVG: dark on light in both colour schemes, because some cameras read no other. */
import { encode } from 'uqr';
import { type Html, html } from '../../../../lib/extension-door.js';

/** Modules of the quiet zone around the code. @see ISO/IEC 18004 §6.3.8 */
const QUIET = 4;

export function qrCode(content: string, label: string): Html {
  const { data, size } = encode(content, { ecc: 'M', border: QUIET });
  // Draws each run of dark modules as one rectangle.
  const dark = data.flatMap((row, y) =>
    row.flatMap((isDark, x) => {
      if (!isDark || row[x - 1]) return [];
      const end = row.indexOf(false, x);
      const width = (end === -1 ? size : end) - x;
      return [`M${x} ${y}h${width}v1h-${width}z`];
    }),
  );
  return html`<svg class="qr" role="img" aria-label="${label}" viewBox="0 0 ${String(size)} ${String(size)}" shape-rendering="crispEdges">
<rect width="100%" height="100%" fill="#ffffff" stroke="none"/><path d="${dark.join('')}" fill="#000000" stroke="none"/></svg>`;
}
