import type { en } from './en.js';

export const de: Record<keyof typeof en, string> = {
  'linked.title': 'Verknüpfte Konten',
  'linked.lead': 'Sie sind als {userName} ({tenant}) angemeldet.',
  'linked.summary': 'Eine gemeinsame Anmeldung für Ihre Konten bei mehreren Organisationen.',
  'linked.none': 'Mit diesem Konto ist kein anderes verknüpft. Verknüpfte Konten haben eine gemeinsame Anmeldung.',
  'linked.add': 'Anderes Konto verknüpfen',
  'linked.closed': 'Diese Organisation lässt nicht zu, dass ihre Konten mit Konten anderer Organisationen verknüpft werden.',
  'linked.end': 'Aufheben',
  'linked.linked': 'Die Konten sind verknüpft.',
  'linked.unlinked': 'Die Verknüpfung ist aufgehoben.',
  'linked.back': 'Zurück zu den verknüpften Konten',
  'linked.confirm.title': 'Diese Konten verknüpfen?',
  'linked.confirm.lead': 'Danach haben Sie eine Anmeldung für beide und wählen die Organisation.',
  'linked.confirm.credentials':
    'Danach gelten das Passwort und der zweite Faktor des Kontos, das Sie wählen, für beide. Die des anderen Kontos werden nicht mehr verwendet.',
  'linked.confirm.submit': 'Verknüpfen und als {userName} ({tenant}) anmelden',
  'linked.confirm.leave': 'Nicht verknüpfen',
  'linked.refused.title': 'Diese Konten lassen sich nicht verknüpfen',
  'linked.refused.same': 'Sie haben sich zweimal beim selben Konto angemeldet. Melden Sie sich beim anderen Konto an, um es zu verknüpfen.',
  'linked.refused.linked': 'Sie sind schon verknüpft.',
  'linked.refused.tenant': 'Beide haben ein Konto bei derselben Organisation. Verknüpfte Konten haben bei jeder nur eines.',
  'linked.refused.families': 'Beide sind mit anderen Konten verknüpft. Heben Sie zuerst die Verknüpfungen des einen auf.',
  'linked.refused.privileged': 'Konten von Administratoren werden nicht verknüpft.',
  'linked.refused.policy': 'Eine der Organisationen lässt nicht zu, dass ihre Konten mit Konten anderer Organisationen verknüpft werden.',
  'linked.onlyWay.title': 'Diese Verknüpfung lässt sich jetzt nicht aufheben',
  'linked.refused.onlyWay':
    'Das Konto {userName} hat keinen eigenen Anmeldeweg. Sie könnten sich nicht mehr daran anmelden. Fragen Sie die Administration von {tenant}.',
  'linked.unlink.title': 'Diese Verknüpfung aufheben?',
  'linked.unlink.text':
    'Wenn Sie die Verknüpfung aufheben, werden Sie bei {tenant} abgemeldet. Danach hat {userName} eine eigene Anmeldung. Hat das Konto kein Passwort, hilft die Administration von {tenant}.',
  'linked.unlink.submit': 'Verknüpfung aufheben',
  'linked.unlink.leave': 'Verknüpfung behalten',
  'linked.lost.title': 'Beginnen Sie noch einmal',
  'linked.lost.text': 'Dieser Schritt ist vorbei oder wurde in einem anderen Browser begonnen. Es wurde nichts geändert.',
};
