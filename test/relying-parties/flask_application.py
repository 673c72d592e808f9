"""An application by the documentation of Authlib's Flask client. `/` answers the claims of the ID token."""
import os

from authlib.integrations.flask_client import OAuth
from flask import Flask, jsonify, redirect, session, url_for

issuer, client, port = os.environ['ISSUER'], os.environ['CLIENT'], int(os.environ['PORT'])
app = Flask(__name__)
app.secret_key = 'a secret of the application alone'
oauth = OAuth(app)
oauth.register(
    'tenant_idp',
    server_metadata_url=f'{issuer}/.well-known/openid-configuration',
    client_id=client,
    client_secret=f'{client}-secret',
    client_kwargs={'scope': 'openid profile email'},
)


@app.route('/login')
def login():
    return oauth.tenant_idp.authorize_redirect(url_for('cb', _external=True))


@app.route('/cb')
def cb():
    session['user'] = oauth.tenant_idp.authorize_access_token()['userinfo']
    return redirect('/')


@app.route('/')
def home():
    return jsonify(session.get('user'))


app.run(host='127.0.0.1', port=port)
