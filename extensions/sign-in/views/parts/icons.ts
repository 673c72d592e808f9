/** Line icons on a 24 px grid, for decoration only. */
import { Html } from '../../../../lib/extension-door.js';

const icon = (size: number, paths: string): Html =>
  new Html(`<svg width="${size}" height="${size}" viewBox="0 0 24 24" aria-hidden="true">${paths}</svg>`);

export const alertIcon = icon(20, '<circle cx="12" cy="12" r="9"/><path d="M12 7.5v5.5M12 16.5v.01"/>');
export const warningMark = icon(24, '<path d="M12 4 2.8 19.5h18.4zM12 10v4.5M12 17v.01"/>');
export const clockMark = icon(24, '<circle cx="12" cy="12" r="9"/><path d="M12 7v5l3.5 2"/>');
export const searchMark = icon(24, '<circle cx="10.5" cy="10.5" r="6.5"/><path d="m15.5 15.5 5 5"/>');
export const doneMark = icon(24, '<path d="m5 12.5 4.5 4.5L19 7.5"/>');
export const eyeIcon = icon(
  22,
  '<path d="M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12z"/><circle cx="12" cy="12" r="3"/><path class="shut" d="m4 4 16 16"/>',
);
export const chevronIcon = icon(20, '<path d="m9 5.5 6.5 6.5L9 18.5"/>');
export const globeIcon = icon(
  18,
  '<circle cx="12" cy="12" r="9"/><path d="M3 12h18M12 3c3 3 3.5 6 3.5 9s-.5 6-3.5 9c-3-3-3.5-6-3.5-9S9 6 12 3z"/>',
);
