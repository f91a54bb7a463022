"""Runs the official Python clients against a sandbox (URL) and prints the title of each check that holds."""
import base64
import sys
import time
import traceback

url, which = sys.argv[1:]
checks = []


def check(function):
    checks.append(function)


if which == 'openai':
    from openai import AuthenticationError, NotFoundError, OpenAI
    from pydantic import BaseModel

    client = OpenAI(base_url=f'{url}/v1', api_key='any', max_retries=0)

    class Person(BaseModel):
        name: str
        age: int

    def picture():
        return base64.b64decode(client.images.generate(model='gpt-image-2', prompt='x').data[0].b64_json)

    @check
    def text():
        assert '“hi”' in client.responses.create(model='sandbox-text', input='hi').output_text

    @check
    def streams():
        with client.responses.stream(model='sandbox-text', input='hi') as stream:
            text = ''.join(event.delta for event in stream if event.type == 'response.output_text.delta')
            assert text == stream.get_final_response().output_text != ''

    @check
    def structured_output():
        answer = client.responses.parse(model='sandbox-text', input='x', text_format=Person)
        assert isinstance(answer.output_parsed, Person)

    @check
    def background():
        answer = client.responses.create(model='sandbox-text', input='hi', background=True)
        while answer.status in ('queued', 'in_progress'):
            time.sleep(0.05)
            answer = client.responses.retrieve(answer.id)
        assert answer.status == 'completed' and answer.output_text != ''

    @check
    def errors():
        for error, call in (
            (AuthenticationError, lambda: OpenAI(base_url=f'{url}/v1', api_key='invalid').models.list()),
            (NotFoundError, lambda: client.responses.retrieve('resp_none')),
        ):
            try:
                call()
            except error:
                continue
            raise AssertionError(error)

    @check
    def images():
        file = picture()
        edit = client.images.edit(
            model='gpt-image-2', prompt='x', image=('a.png', file), mask=('mask.png', file)
        )
        assert file[:4] == base64.b64decode(edit.data[0].b64_json)[:4] == b'\x89PNG'

    @check
    def videos():
        video = client.videos.create_and_poll(
            model='sora-2', prompt='x', input_reference=('a.png', picture(), 'image/png'), poll_interval_ms=50
        )
        assert client.videos.download_content(video.id).read()[4:8] == b'ftyp'
        assert client.videos.delete(video.id).deleted

else:
    from google import genai
    from google.genai import types

    client = genai.Client(api_key='any', http_options=types.HttpOptions(base_url=url))
    models = client.models

    @check
    def text():
        stream = models.generate_content_stream(model='sandbox-text', contents='hi')
        whole = models.generate_content(model='sandbox-text', contents='hi')
        assert '“hi”' in whole.text and '“hi”' in ''.join(chunk.text or '' for chunk in stream)

    @check
    def media():
        parts = ['x', types.Part.from_bytes(data=b'abc', mime_type='text/plain')]
        assert models.generate_content(model='sandbox-text', contents=parts).text

    @check
    def structured_output():
        config = types.GenerateContentConfig(
            response_mime_type='text/x.enum', response_schema={'type': 'STRING', 'enum': ['red', 'blue']}
        )
        assert models.generate_content(model='sandbox-text', contents='x', config=config).text in ('red', 'blue')

    @check
    def automatic_function_calls():
        def weather(city: str) -> str:
            """The weather of a city."""
            return 'sunny'

        config = types.GenerateContentConfig(tools=[weather])
        answer = models.generate_content(model='sandbox-text', contents='weather of Rome', config=config)
        assert 'the result of a tool' in answer.text

    @check
    def pictures():
        config = types.GenerateContentConfig(response_modalities=['TEXT', 'IMAGE'])
        answer = models.generate_content(model='gemini-image', contents='x', config=config)
        assert answer.candidates[0].content.parts[1].inline_data.data[:4] == b'\x89PNG'

    @check
    def videos():
        operation = models.generate_videos(
            model='veo-3.1', source=types.GenerateVideosSource(prompt='x'), config={'duration_seconds': 4}
        )
        while not operation.done:
            time.sleep(0.05)
            operation = client.operations.get(operation)
        assert client.files.download(file=operation.response.generated_videos[0].video)[4:8] == b'ftyp'


for function in checks:
    try:
        function()
        print(function.__name__)
    except Exception:
        traceback.print_exc(file=sys.stdout)
