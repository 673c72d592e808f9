"""An application by the Flask demo of python3-saml. `/` answers the signed-in user."""
import os

from flask import Flask, Response, jsonify, redirect, request, session
from onelogin.saml2.auth import OneLogin_Saml2_Auth
from onelogin.saml2.idp_metadata_parser import OneLogin_Saml2_IdPMetadataParser
from onelogin.saml2.settings import OneLogin_Saml2_Settings

idp, origin, port = os.environ['IDP'], os.environ['ORIGIN'], int(os.environ['PORT'])
secured = 'SECURED' in os.environ
binding = 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-'
settings = {
    'strict': True,
    'sp': {
        'entityId': f'{origin}/saml/metadata',
        'assertionConsumerService': {'url': f'{origin}/saml/acs', 'binding': f'{binding}POST'},
        'singleLogoutService': {'url': f'{origin}/saml/slo', 'binding': f'{binding}Redirect'},
        'x509cert': os.environ['CERTIFICATE'],
        'privateKey': os.environ['KEY'],
    },
    'security': {
        'authnRequestsSigned': secured,
        'logoutRequestSigned': True,
        'logoutResponseSigned': True,
        'wantAssertionsEncrypted': secured,
        'wantAssertionsSigned': True,
    },
}
settings = OneLogin_Saml2_IdPMetadataParser.merge_settings(
    OneLogin_Saml2_IdPMetadataParser.parse_remote(f'{idp}/metadata'), settings
)
app = Flask(__name__)
app.secret_key = 'a secret of the application alone'
# Other applications on this host use Flask's default name.
app.config['SESSION_COOKIE_NAME'] = f'session-{port}'


def auth():
    data = {
        'https': 'off',
        'http_host': request.host,
        'script_name': request.path,
        'get_data': request.args.copy(),
        'post_data': request.form.copy(),
        'query_string': request.query_string.decode(),
    }
    return OneLogin_Saml2_Auth(data, settings)


@app.route('/login')
def login():
    sign_in = auth()
    url = sign_in.login(request.args.get('RelayState'))
    session['request'] = sign_in.get_last_request_id()
    return redirect(url)


@app.route('/saml/acs', methods=['POST'])
def acs():
    response = auth()
    response.process_response(session.pop('request', None))
    if response.get_errors():
        return f'{response.get_errors()} {response.get_last_error_reason()}', 403
    session['user'] = {
        'nameId': response.get_nameid(),
        'attributes': response.get_attributes(),
        'relayState': request.form.get('RelayState', ''),
    }
    session['about'] = {
        'name_id': response.get_nameid(),
        'session_index': response.get_session_index(),
        'nq': response.get_nameid_nq(),
        'name_id_format': response.get_nameid_format(),
        'spnq': response.get_nameid_spnq(),
    }
    return redirect('/')


@app.route('/logout')
def logout():
    sign_out = auth()
    url = sign_out.logout(origin, **session['about'])
    session['logout'] = sign_out.get_last_request_id()
    return redirect(url)


@app.route('/saml/slo')
def slo():
    message = auth()
    url = message.process_slo(request_id=session.get('logout'), delete_session_cb=session.clear)
    if message.get_errors():
        return f'{message.get_errors()} {message.get_last_error_reason()}', 403
    return redirect(url or '/')


@app.route('/saml/metadata')
def metadata():
    document = OneLogin_Saml2_Settings(settings, sp_validation_only=True).get_sp_metadata()
    return Response(document, mimetype='application/samlmetadata+xml')


@app.route('/')
def home():
    return jsonify(session.get('user'))


app.run(host='127.0.0.1', port=port)
