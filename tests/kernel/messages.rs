//! Promise: what a worker and the harness tell each other comes back as it was sent, or is an error.

use std::io::ErrorKind;

use holdfast::kernel::worker::message::Message;

#[test]
fn messages_come_back_as_they_were_sent() {
    let tensors = vec![Some(vec![1u8, 2, 3]), None, Some(vec![]), Some(vec![9; 70_000])];
    let first = Message::new(&Some("no"), tensors).expect("it is encoded");
    let second = Message { header: Vec::new(), tensors: Vec::new() };
    let mut stream = Vec::new();
    first.send(&mut stream).expect("a Vec takes all");
    second.send(&mut stream).expect("a Vec takes all");
    let mut from = stream.as_slice();
    let received = Message::receive(&mut from).expect("a message");
    assert_eq!(received, first);
    assert_eq!(received.header::<Option<String>>().expect("the header"), Some("no".to_owned()));
    assert_eq!(Message::receive(&mut from).expect("a message"), second);
    assert!(second.header::<String>().is_err());
    let end = Message::receive(&mut from).expect_err("the stream ends");
    assert_eq!(end.kind(), ErrorKind::UnexpectedEof);
}

#[test]
fn noise_and_truncation_are_errors() {
    let message = Message::new(&"yes", vec![Some(vec![7; 100])]).expect("it is encoded");
    let mut stream = Vec::new();
    message.send(&mut stream).expect("a Vec takes all");
    for length in 0..stream.len() {
        assert!(Message::receive(&mut &stream[..length]).is_err(), "{length} bytes of {}", stream.len());
    }
    // In the words before the tensors' lengths.
    for at in 0..24 {
        let mut noisy = stream.clone();
        noisy[at] ^= 0xff;
        assert!(Message::receive(&mut noisy.as_slice()).is_err(), "noise at {at}");
    }
}
