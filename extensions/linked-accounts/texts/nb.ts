import type { en } from './en.js';

export const nb: Record<keyof typeof en, string> = {
  'linked.title': 'Koblede kontoer',
  'linked.lead': 'Du er logget inn som {userName} ({tenant}).',
  'linked.summary': 'Én felles innlogging for kontoene dine hos flere organisasjoner.',
  'linked.none': 'Ingen annen konto er koblet til denne. Kontoer som er koblet, har én felles innlogging.',
  'linked.add': 'Koble til en annen konto',
  'linked.closed': 'Denne organisasjonen lar ikke kontoene sine kobles til kontoer i andre organisasjoner.',
  'linked.end': 'Avslutt',
  'linked.linked': 'Kontoene er koblet.',
  'linked.unlinked': 'Koblingen er avsluttet.',
  'linked.back': 'Tilbake til koblede kontoer',
  'linked.confirm.title': 'Vil du koble disse kontoene?',
  'linked.confirm.lead': 'Da har du én innlogging for begge, og velger organisasjon.',
  'linked.confirm.credentials':
    'Passordet og den ekstra faktoren til kontoen du velger, gjelder deretter for begge. Den andre kontoens brukes ikke lenger.',
  'linked.confirm.submit': 'Koble dem, og logg inn som {userName} ({tenant})',
  'linked.confirm.leave': 'Ikke koble dem',
  'linked.refused.title': 'Disse kontoene kan ikke kobles',
  'linked.refused.same': 'Du logget inn på samme konto to ganger. Logg inn på den andre kontoen for å koble den.',
  'linked.refused.linked': 'De er allerede koblet.',
  'linked.refused.tenant': 'Begge har en konto i samme organisasjon. Koblede kontoer har én i hver.',
  'linked.refused.families': 'Begge er koblet til andre kontoer. Avslutt koblingene til en av dem først.',
  'linked.refused.privileged': 'Kontoer for administratorer kobles ikke.',
  'linked.refused.policy': 'En av organisasjonene lar ikke kontoene sine kobles til kontoer i andre organisasjoner.',
  'linked.onlyWay.title': 'Denne koblingen kan ikke avsluttes nå',
  'linked.refused.onlyWay':
    'Kontoen {userName} har ingen egen måte å logge inn på, så du ville ikke lenger kunne logge inn på den. Spør administratoren hos {tenant}.',
  'linked.unlink.title': 'Vil du avslutte koblingen?',
  'linked.unlink.text':
    'Når du avslutter koblingen, blir du logget ut av {tenant}. Deretter har {userName} sin egen innlogging. Hvis den ikke har noe passord, kan administratoren hos {tenant} hjelpe.',
  'linked.unlink.submit': 'Avslutt koblingen',
  'linked.unlink.leave': 'Behold koblingen',
  'linked.lost.title': 'Start på nytt',
  'linked.lost.text': 'Dette steget er over, eller ble startet i en annen nettleser. Ingenting ble endret.',
};
