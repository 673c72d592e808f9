import type { en } from './en.js';

export const sv: Record<keyof typeof en, string> = {
  'linked.title': 'Länkade konton',
  'linked.lead': 'Du är inloggad som {userName} ({tenant}).',
  'linked.summary': 'En gemensam inloggning för dina konton hos flera organisationer.',
  'linked.none': 'Inget annat konto är länkat till detta. Länkade konton har en gemensam inloggning.',
  'linked.add': 'Länka ett annat konto',
  'linked.closed': 'Den här organisationen tillåter inte att dess konton länkas till konton i andra organisationer.',
  'linked.end': 'Avsluta',
  'linked.linked': 'Kontona är länkade.',
  'linked.unlinked': 'Länken är avslutad.',
  'linked.back': 'Tillbaka till länkade konton',
  'linked.confirm.title': 'Vill du länka de här kontona?',
  'linked.confirm.lead': 'Då har du en inloggning för båda och väljer organisation.',
  'linked.confirm.credentials':
    'Lösenordet och den andra faktorn för kontot som du väljer gäller sedan för båda. Det andra kontots används inte längre.',
  'linked.confirm.submit': 'Länka dem och logga in som {userName} ({tenant})',
  'linked.confirm.leave': 'Länka dem inte',
  'linked.refused.title': 'De här kontona kan inte länkas',
  'linked.refused.same': 'Du loggade in på samma konto två gånger. Logga in på det andra kontot för att länka det.',
  'linked.refused.linked': 'De är redan länkade.',
  'linked.refused.tenant': 'Båda har ett konto i samma organisation. Länkade konton har ett i varje.',
  'linked.refused.families': 'Båda är länkade till andra konton. Avsluta först länkarna för ett av dem.',
  'linked.refused.privileged': 'Administratörers konton länkas inte.',
  'linked.refused.policy': 'En av organisationerna tillåter inte att dess konton länkas till konton i andra organisationer.',
  'linked.onlyWay.title': 'Den här länken kan inte avslutas nu',
  'linked.refused.onlyWay':
    'Kontot {userName} har inget eget sätt att logga in, så du skulle inte längre kunna logga in på det. Fråga administratören hos {tenant}.',
  'linked.unlink.title': 'Vill du avsluta länken?',
  'linked.unlink.text':
    'När du avslutar länken loggas du ut från {tenant}. Därefter har {userName} en egen inloggning. Om kontot saknar lösenord kan administratören hos {tenant} hjälpa till.',
  'linked.unlink.submit': 'Avsluta länken',
  'linked.unlink.leave': 'Behåll länken',
  'linked.lost.title': 'Börja om',
  'linked.lost.text': 'Det här steget är över eller påbörjades i en annan webbläsare. Ingenting ändrades.',
};
