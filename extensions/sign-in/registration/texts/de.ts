import type { en } from './en.js';

export const de: Record<keyof typeof en, string> = {
  'sign-in.check.title': 'Sehen Sie in Ihre E-Mails, um fortzufahren',
  'sign-in.check.text': 'Wir haben einen Link an {email} gesendet. Ihr Konto wird angelegt, wenn Sie ihn öffnen.',
  'sign-in.check.hint': 'Nichts angekommen? Sehen Sie im Spam-Ordner nach, oder versuchen Sie es in einigen Minuten erneut.',
  'sign-in.check.signIn': 'Ich habe ein Konto',
  'sign-in.confirm.title': 'Möchten Sie Ihr Konto anlegen?',
  'sign-in.confirm.text': '{email} wird Ihr Benutzername bei {tenant}.',
  'sign-in.confirm.elsewhere':
    'Das Konto wurde in einem anderen Browser begonnen. Wählen Sie hier ein Passwort: Das von dort wird nicht verwendet. Prüfen Sie auch Ihren Namen.',
  'sign-in.confirm.password': 'Neues Passwort',
  'sign-in.confirm.submit': 'Konto anlegen',
  'sign-in.confirm.busy': 'Gerade ist viel los. Versuchen Sie es gleich noch einmal.',
  'sign-in.ready.title': 'Ihr Konto ist bereit',
  'sign-in.ready.text': 'Sie können sich ab jetzt bei {tenant} anmelden. Sie können diese Seite schließen.',
  'sign-in.exists.title': 'Sie haben bereits ein Konto',
  'sign-in.exists.text':
    'Melden Sie sich bei {tenant} mit dieser E-Mail-Adresse an. Wenn Sie das Passwort vergessen haben, können Sie dort ein neues wählen.',
  'sign-in.closed.title': 'Konten können gerade nicht angelegt werden',
  'sign-in.closed.text': '{tenant} lässt keine neuen Konten mehr anlegen.',
  'sign-in.over.title': 'Dieser Link wurde verwendet oder ist abgelaufen',
  'sign-in.over.text': 'Wenn Sie noch kein Konto haben, legen Sie es dort erneut an, wo Sie sich anmelden.',
  'sign-in.unknown.title': 'Dieser Link funktioniert nicht',
  'sign-in.unknown.text': 'Prüfen Sie, ob der Link vollständig ist, oder legen Sie das Konto erneut an.',
  'sign-in.foreign.title': 'Dieses Formular kann nicht verwendet werden',
  'sign-in.foreign.text': 'Es ist aus einem anderen Browser oder zu alt. Öffnen Sie den Link erneut.',
  'sign-in.to': 'Zu {client}',
  'sign-in.mail.greeting': 'Guten Tag,',
  'sign-in.mail.until': 'Der Link funktioniert einmal, bis {time} (UTC).',
  'sign-in.mail.ignore': 'Wenn Sie nicht wissen, worum es geht, können Sie diese E-Mail ignorieren.',
  'sign-in.mail.register.subject': 'Legen Sie Ihr Konto bei {tenant} an',
  'sign-in.mail.register.text': 'Ein Schritt fehlt noch zu Ihrem Konto bei {tenant}: Bestätigen Sie, dass das Ihre Adresse ist.',
  'sign-in.mail.register.button': 'Konto anlegen',
  'sign-in.mail.exists.subject': 'Sie haben ein Konto bei {tenant}',
  'sign-in.mail.exists.text':
    'Jemand wollte mit dieser Adresse ein Konto bei {tenant} anlegen. Sie haben bereits eines: Melden Sie sich damit an. Wenn Sie das Passwort vergessen haben, können Sie dort ein neues wählen.',
};
